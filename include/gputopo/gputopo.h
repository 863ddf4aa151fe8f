/* gputopo as a library: what a GPU is made of, measured, or read from a saved report. C99; link with -lgputopo.
 *
 * Every function returns a gputopo_status and gives its results through pointers, which are untouched when it fails.
 * gputopo_last_error() then says in one line what failed and what to do. NULL where a pointer is needed is
 * GPUTOPO_ERROR_ARGUMENT, a report that was never made or is freed GPUTOPO_ERROR_HANDLE.
 *
 * The library prints nothing, installs no signal handlers, never ends the process, and leaves the caller's CUDA context
 * and HIP device current. It calls back only on the thread that called it.
 *
 * Threads: every function may be called from several threads at a time, with the same report, too. Discoveries of one
 * GPU wait for one another, also across processes (gputopo_options.wait).
 *
 * fork: in the child, everything works but the drivers. Once a process has discovered or listed GPUs, both fail in its
 * children with GPUTOPO_ERROR_FORKED, for no driver outlives a fork. After exec nothing of this holds.
 *
 * Text is UTF-8. docs/library.md has more, and examples/ whole programs.
 */
#ifndef GPUTOPO_GPUTOPO_H
#define GPUTOPO_GPUTOPO_H

/* NOLINTBEGIN(readability-identifier-naming,modernize-*): it is C, with C's names. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define GPUTOPO_API __attribute__((visibility("default")))
#else
#define GPUTOPO_API
#endif

/* 0xMMmmpp of the release that this header is of. gputopo_api_version() is that of the library in use. */
#define GPUTOPO_API_VERSION 0x000100

/* What a function came to. New ones are added at the end. */
enum gputopo_status {
  GPUTOPO_OK = 0,
  GPUTOPO_UNAVAILABLE = 1,    /* there is no such value of this GPU: gputopo_value.reason says why */
  GPUTOPO_ERROR_ARGUMENT = 2, /* NULL, or an option out of range */
  GPUTOPO_ERROR_HANDLE = 3,   /* not a report, or freed */
  GPUTOPO_ERROR_NAME = 4,   /* no value, element, attribute, format or device is called so; the text has the nearest */
  GPUTOPO_ERROR_TYPE = 5,   /* the value is no number */
  GPUTOPO_ERROR_FORMAT = 6, /* not a report of gputopo; or the report lacks what the format to write needs */
  GPUTOPO_ERROR_FILE = 7,   /* a file cannot be read */
  GPUTOPO_ERROR_DEVICE = 8, /* the GPU or its driver failed */
  GPUTOPO_ERROR_DEVICE_LOST = 9, /* the same, and nothing more can be measured in this process */
  GPUTOPO_ERROR_BUSY = 10,       /* another discovery measures this GPU, and was not to be waited for any longer */
  GPUTOPO_ERROR_CANCELLED = 11,  /* before anything was measured */
  GPUTOPO_ERROR_FORKED = 12,     /* the process is a fork of one that has used the drivers */
  GPUTOPO_ERROR_MEMORY = 13,     /* the host is out of memory */
  GPUTOPO_ERROR_INTERNAL = 14    /* a fault of gputopo: please report it */
};

/* "ok", "unavailable", "argument", ...; "unknown" for what is no status. Never NULL. */
GPUTOPO_API const char* gputopo_status_name(int status);

/* Why the last call of this thread that did not return GPUTOPO_OK did not: one line, "" where there was none. It stands
 * until the next call that fails. Never NULL. */
GPUTOPO_API const char* gputopo_last_error(void);

/* "0.1.0". Never NULL. */
GPUTOPO_API const char* gputopo_version(void);
/* As GPUTOPO_API_VERSION. */
GPUTOPO_API uint32_t gputopo_api_version(void);

/* ---- Devices ---- */

typedef struct gputopo_device {
  const char* spec;        /* what gputopo_discover takes: "cuda:0", "hip:0", "sim:h200" */
  const char* name;        /* "NVIDIA H200" */
  const char* pci_address; /* "0000:0f:00.0"; "" where there is none */
  const char* detail;      /* one short phrase: compute capability and memory, or why it cannot be used */
} gputopo_device;

/* Every device of this machine, real ones first, then the simulated ones: an array that ends with NULL, for
 * gputopo_devices_free. `problem` (may be NULL): one line where a driver is there but cannot be used, else ""; for
 * gputopo_string_free. Takes some seconds where a driver has rested. */
GPUTOPO_API int gputopo_list(gputopo_device*** devices, char** problem);
/* NULL is ignored. */
GPUTOPO_API void gputopo_devices_free(gputopo_device** devices);

/* ---- Reports ---- */

/* One report: everything that is known of one device. Never changes. */
typedef struct gputopo_report gputopo_report;

typedef struct gputopo_progress {
  const char* step; /* "l1.size"; "" at the very end */
  size_t done;      /* steps, of total */
  size_t total;
  double elapsed_seconds;
} gputopo_progress;

enum gputopo_log_level {
  GPUTOPO_LOG_INFO = 0,   /* what was decided and why */
  GPUTOPO_LOG_WARNING = 1 /* what may make the result less than was asked for */
};

/* What to discover, and how. Set by gputopo_options_init(), then changed. Later versions add members at the end: `size`
 * says which the caller has. */
typedef struct gputopo_options {
  uint32_t size;               /* sizeof(gputopo_options) */
  int32_t full;                /* also what takes its time: `gputopo --full` */
  const char* const* elements; /* as `gputopo --only` takes them: "l2", "l2.size", "instructions"; NULL: all */
  size_t element_count;
  const char* const* attributes; /* "size", "latency"; NULL: all */
  size_t attribute_count;
  double budget_seconds;  /* 60: what does not fit is unavailable, GPUTOPO_REASON_TIMED_OUT */
  uint64_t seed;          /* 1: of the noise of simulated devices */
  int32_t keep_samples;   /* 0: tables of samples, the evidence behind plots */
  int32_t wait;           /* 1: for another discovery of the same GPU; 0: GPUTOPO_ERROR_BUSY instead */
  int32_t use_cache;      /* 0: answer from, and keep for, the cache of `gputopo get` */
  double max_age_seconds; /* 0: with use_cache, measure again what is older; 0: however old */
  /* Called on the thread that called gputopo_discover; each may be NULL. They may call the library, and must return:
   * no longjmp, no exception. */
  void (*progress)(void* user, const gputopo_progress* progress);
  void (*log)(void* user, int32_t level, const char* line);
  int32_t (*cancelled)(void* user); /* asked some twenty times a second: not 0 ends after the running launch */
  void* user;                       /* handed to all three */
  double max_wait_seconds;          /* 600: with wait, GPUTOPO_ERROR_BUSY where the other has not ended by then */
} gputopo_options;

/* The defaults. `size`: sizeof(gputopo_options). */
GPUTOPO_API int gputopo_options_init(gputopo_options* options, size_t size);

/* Measures a device for some seconds. `device`: as gputopo_device.spec, "sim:FILE.json" or "replay:FILE"; NULL or "":
 * the first GPU, or a simulated one where there is none (device.simulated says so). `options`: NULL for the defaults.
 * On the GPU it takes up to nine tenths of the free memory.
 *
 * What ends early (options.cancelled, the budget, a lost device) is a report nevertheless: gputopo_complete() is 0, and
 * each value that is missing says why. */
GPUTOPO_API int gputopo_discover(const char* device, const gputopo_options* options, gputopo_report** report);

/* A saved report: a file of `gputopo --json`, or its text. Of any version that this one knows. */
GPUTOPO_API int gputopo_load(const char* path, gputopo_report** report);
GPUTOPO_API int gputopo_parse(const char* json, size_t length, gputopo_report** report);

/* NULL is ignored, and so is what is no report. Another thread that reads the report meanwhile may finish. */
GPUTOPO_API void gputopo_report_free(gputopo_report* report);

/* 1, or 0 where the discovery ended early. */
GPUTOPO_API int gputopo_complete(const gputopo_report* report, int32_t* complete);

/* The report as text, in a format as the options of the program are called: "json", "html", "csv", "markdown",
 * "mt4g-json", ..., and "table" and "tree" for a terminal. For gputopo_string_free. `length` (may be NULL): bytes
 * without the 0 at the end. GPUTOPO_ERROR_FORMAT where the report lacks what the format cannot do without. */
GPUTOPO_API int gputopo_render(const gputopo_report* report, const char* format, char** text, size_t* length);

/* NULL is ignored. */
GPUTOPO_API void gputopo_string_free(char* text);

/* ---- Values ---- */

enum gputopo_type {
  GPUTOPO_TYPE_NONE = 0,    /* unavailable */
  GPUTOPO_TYPE_NUMBER = 1,  /* number */
  GPUTOPO_TYPE_BOOLEAN = 2, /* number: 0 or 1 */
  GPUTOPO_TYPE_TEXT = 3,    /* text */
  GPUTOPO_TYPE_NUMBERS = 4, /* numbers, count */
  GPUTOPO_TYPE_TEXTS = 5,   /* texts, count */
  GPUTOPO_TYPE_GROUPS = 6 /* SMs that belong together: group_ends[i] is where the i-th ends in numbers, count of all */
};

enum gputopo_source {
  GPUTOPO_SOURCE_UNAVAILABLE = 0,
  GPUTOPO_SOURCE_MEASURED = 1,
  GPUTOPO_SOURCE_API = 2,     /* the vendor's interface said so */
  GPUTOPO_SOURCE_INFERRED = 3 /* a table, or arithmetic over other values */
};

/* Why there is no value. */
enum gputopo_reason {
  GPUTOPO_REASON_NONE = 0,           /* there is one */
  GPUTOPO_REASON_NOT_APPLICABLE = 1, /* this element has no such attribute */
  GPUTOPO_REASON_NOT_SUPPORTED = 2,  /* this device cannot tell */
  GPUTOPO_REASON_NOT_PRESENT = 3,    /* the element does not exist here */
  GPUTOPO_REASON_INCONCLUSIVE = 4,   /* measured, and the samples do not decide */
  GPUTOPO_REASON_TIMED_OUT = 5,      /* the budget ran out first */
  GPUTOPO_REASON_INTERRUPTED = 6,    /* cancelled first */
  GPUTOPO_REASON_DEVICE_ERROR = 7,   /* the device failed meanwhile */
  GPUTOPO_REASON_DEPENDENCY = 8,     /* something that it needs is unavailable */
  GPUTOPO_REASON_NOT_SELECTED = 9,   /* not asked for */
  GPUTOPO_REASON_DISTURBED = 10,     /* other programs had the GPU whenever it was tried */
  GPUTOPO_REASON_NOT_IN_REPORT = 11  /* the report has nothing of that name */
};

/* A value with all that is known of it. Initialized with GPUTOPO_VALUE_INIT. Its memory is its own. Later versions add
 * members at the end. */
typedef struct gputopo_value {
  uint32_t size;  /* sizeof(gputopo_value) */
  int32_t type;   /* gputopo_type: which of the next members hold the value */
  int32_t source; /* gputopo_source */
  int32_t reason; /* gputopo_reason */
  double number;  /* in `unit`; NaN where it is not a number */
  double low;     /* the 95% interval; NaN where there is none */
  double high;
  char* text;      /* the value as `gputopo get` prints it, whatever its type; "" where there is none */
  char* unit;      /* "B", "cycles", "B/s", "MHz"; "" for counts and names */
  char* detail;    /* one line on the reason; "" where there is a value */
  char* method;    /* how it was found out; "" where it was not measured */
  double* numbers; /* `count` of them, or NULL */
  char** texts;    /* `count` of them, or NULL */
  size_t count;
  size_t* group_ends; /* `group_count` of them, or NULL */
  size_t group_count;
} gputopo_value;

#define GPUTOPO_VALUE_INIT \
  { sizeof(gputopo_value), 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0 }

/* A value by its path: "l2.latency", "compute.sm_count", "instructions.fma.f32.latency", "device.name". `value`: from
 * GPUTOPO_VALUE_INIT; what an earlier call left there is freed. It is for gputopo_value_free() after
 * GPUTOPO_UNAVAILABLE, too: that fills in the reason. A path that nothing is called by is GPUTOPO_ERROR_NAME. */
GPUTOPO_API int gputopo_get(const gputopo_report* report, const char* path, gputopo_value* value);
/* NULL is ignored. The value is as after GPUTOPO_VALUE_INIT. */
GPUTOPO_API void gputopo_value_free(gputopo_value* value);

/* The same of a number or a boolean (0 or 1), with nothing to free. `low` and `high` may be NULL; NaN where there is no
 * interval. Where there is no value: GPUTOPO_UNAVAILABLE, and gputopo_last_error() has the reason. */
GPUTOPO_API int gputopo_number(const gputopo_report* report, const char* path, double* number, double* low,
                               double* high);

/* "measured", "api", "inferred", "unavailable"; "timed_out", ...: as in the JSON. "unknown" for others. Never NULL. */
GPUTOPO_API const char* gputopo_source_name(int32_t source);
GPUTOPO_API const char* gputopo_reason_name(int32_t reason);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming,modernize-*) */

#endif
