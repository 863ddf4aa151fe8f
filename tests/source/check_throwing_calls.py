#!/usr/bin/env python3
"""check_throwing_calls.py [ROOT]: checks that src avoids standard functions whose exceptions users cannot understand.

Functions of std::filesystem throw unless they get an error code, and a range over a directory_iterator always throws
(file/folder_entries.h has one that does not). std::stoi and similar functions throw if a text is no number. Names such
calls of src under ROOT (by default this project), and exits with 1 if there are any.
"""
import pathlib
import re
import sys

# Functions whose last argument may be an error code. With a status that was already read, they need none.
ASKING = ("exists|is_directory|is_regular_file|is_empty|is_symlink|is_fifo|is_socket|is_other|is_block_file|"
          "is_character_file|file_size|canonical|weakly_canonical|absolute|relative|proximate|read_symlink|equivalent|"
          "remove|remove_all|create_directory|create_directories|create_symlink|copy|copy_file|rename|last_write_time|"
          "space|status|symlink_status|temp_directory_path|current_path|permissions|resize_file|hard_link_count")
CALL = re.compile(rf"(?:fs|std::filesystem)::(?:{ASKING})\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)")
WITH_CODE = re.compile(r"(?:^|, )(?:error|ignored|failed|is_missing|status|kind)$")
RANGE = re.compile(r"for \([^;()]* : [^;]*directory_iterator\(")
NUMBER = re.compile(r"std::sto(?:i|l|ll|ul|ull|f|d|ld)\(")


def throwing_calls(text):
    """The line number and the text of each such call."""
    for pattern in (CALL, RANGE, NUMBER):
        for found in pattern.finditer(text):
            if pattern is CALL and WITH_CODE.search(found[1]):
                continue
            yield text.count("\n", 0, found.start()) + 1, found[0]


def main(root):
    count = 0
    for path in sorted([*(root / "src").rglob("*.cpp"), *(root / "src").rglob("*.h")]):
        for line, call in throwing_calls(path.read_text()):
            print(f"{path.relative_to(root)}:{line}: {call} throws what no user understands")
            count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]))
