"""Texts that are harmful if copied unescaped, and numbers that no reader expects.

Every payload that a checker looks for has MARKER, which gputopo itself never writes.
"""

MARKER = "gpx7"

# Bytes, because some are not UTF-8. The JSON writer handles quotes and backslashes.
UTF8_TEXTS = [text.encode() for text in (
    f"<script>{MARKER}()</script>",
    f"</script><script>{MARKER}()</script>",
    f"<img src=x onerror={MARKER}()>",
    f"\"><img src=x onerror={MARKER}()>",
    f"' onmouseover='{MARKER}()",
    f"\" onfocus=\"{MARKER}()\" autofocus=\"",
    f"</style><svg onload={MARKER}()>",
    f"</text></svg><{MARKER}-tag>",
    f"</title></textarea></noscript><{MARKER}-tag>",
    f"]]><{MARKER}-tag/>",
    f"<!--{MARKER}",
    f"--><{MARKER}-tag>",
    f"javascript:{MARKER}()",
    f"data:text/html,<script>{MARKER}()</script>",
    f"&lt;script&gt;{MARKER}()&lt;/script&gt;",
    f"&#60;{MARKER}-tag&#62;",
    f"<!DOCTYPE x [<!ENTITY {MARKER} SYSTEM 'file:///etc/passwd'>]>&{MARKER};",
    f"url(//{MARKER}.example)}}*{{background:red",
    f"\x1b]0;{MARKER}\x07",
    f"{MARKER}\x1b[2J\x1b[H",
    f"\x1b]8;;http://{MARKER}.example\x1b\\{MARKER}",
    f"\x9b31m{MARKER}",  # C1: a terminal's one-byte CSI, here as the two bytes of UTF-8
    f"\x90{MARKER}\x9c",
    f"{MARKER}\u202egnp.exe",
    f"\u2066{MARKER}\u2069\u200f\u061c",
    f"\ufeff{MARKER}\u2028\u2029\u0085",
    f"\U000e0041{MARKER}\ufffe\uffff",
    f"{MARKER}\x00after",
    f"{MARKER}\b\b\b\x7f\x07",
    f"=cmd|' /C {MARKER}'!A0",
    f"@SUM(1+1)*{MARKER}",
    f"+{MARKER}",
    f"-2+3+{MARKER}",
    f"\t={MARKER}",
    f"\r\n={MARKER}",
    f"{MARKER}\",=1+1,\"",
    f"{MARKER}\nsecond line\n# TYPE {MARKER} gauge\n{MARKER} 1",
    f"{MARKER}\"}} 1\n{MARKER}{{x=\"",
    f"{MARKER}\\",
    f"\\\"{MARKER}",
    f"{MARKER}{{}}{{0}}{{:>1000000}}{{:{{}}}}",
    f"%n%s%x%9999999d{MARKER}",
    f"'; {MARKER}; '",
    f"$({MARKER})`{MARKER}`",
    f"'\\''\n{MARKER}\n",
    f"\\input{{/etc/passwd}}\\write18{{{MARKER}}}",
    f"\\end{{tabular}}\\{MARKER}{{}}%",
    f"}}\\{MARKER}{{",
    f"[{MARKER}](javascript:{MARKER}())",
    f"![{MARKER}](http://{MARKER}.example/x.png)",
    f"|{MARKER}|\n|---|---|\n# {MARKER}",
    f"```\n<{MARKER}-tag>",
    f"../../../../tmp/{MARKER}",
    f"/dev/stdin/{MARKER}",
    f"{MARKER}.{MARKER}[\"{MARKER}\"]",
    f"{MARKER}" + "\u0301" * 200,
    f"{MARKER}\U0001f468\u200d\U0001f469",
    "",
    " ",
    "\u00a0",
    "..",
    "-",
    "--help",
)]
TEXTS = UTF8_TEXTS + [
    MARKER.encode() + b"\xff\xfe",
    MARKER.encode() + b"\xc3",  # cut short
    MARKER.encode() + b"\xc0\xaf\xe0\x80\xaf",  # overlong
    MARKER.encode() + b"\xed\xa0\x80",  # a surrogate
    MARKER.encode() + b"\xf4\x90\x80\x80",  # beyond Unicode
    b"\x80\x9b31m" + MARKER.encode(),
]

# JSON tokens, or texts that some readers take for them.
NUMBERS = [b"0", b"-0", b"-0.0", b"1", b"-1", b"2", b"0.5", b"1e-320", b"5e-324", b"1e-400", b"1e15", b"1e18", b"1e19", b"1e300",
           b"1.7976931348623157e308", b"1e309", b"-1e309", b"1e999999999", b"127", b"128", b"255", b"256", b"4095", b"4096", b"4097",
           b"32767", b"65535", b"65536", b"2147483647", b"2147483648", b"-2147483648", b"-2147483649", b"4294967295",
           b"4294967296", b"9007199254740993", b"9223372036854775807", b"9223372036854775808",
           b"-9223372036854775808", b"18446744073709551615", b"18446744073709551616", b"9" * 400, b"0." + b"0" * 400 + b"1",
           b"3.141592653589793", b"1000000", b"16777216", b"16777217", b"NaN", b"Infinity", b"-Infinity", b"nan", b"0x10",
           b"01", b"1.", b".5", b"1e", b"+1", b"1_000"]

# Numbers that readers accept.
VALID_NUMBERS = [number for number in NUMBERS[:NUMBERS.index(b"NaN")] if not number.startswith(b"1e999999999")]

# Words of the formats, which may be wrong but accepted in other places.
WORDS = ["B", "cycles", "ns", "B/s", "B/clk", "B/clk/SM", "MHz", "1/s", "W", "%", "measured", "api", "inferred", "unavailable",
         "not_applicable", "not_present", "not_supported", "timed_out", "device_error", "inconclusive", "disturbed", "interrupted",
         "not_selected", "line", "points", "bars", "density", "map", "none", "x", "y", "series", "weight", "group", "NVIDIA", "AMD",
         "Intel", "", "l1", "l2", "l3", "vl1", "sl1d", "lds", "device", "shared", "constant_l1", "tlb_l1", "icache_l1", "size",
         "latency", "read_bandwidth", "amount", "line_size", "sm_count", "2026-11-25T10:00:00Z", "0000-00-00T00:00:00Z",
         "9999-12-31T23:59:60Z", "1969-12-31T23:59:59Z", "-1", "1e9", "true", "gputopo-node", "gputopo-links", "gputopo-report", "gpu0",
         "gpu1", "gpu255", "gpu4294967296", "host0", "nvlink", "pcie", "sim:h200", "0000:00:06.0", "fma.f32", "global", "generic"]
