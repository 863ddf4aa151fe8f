/* gputopo as a library: the topology of a GPU, measured or read from a saved report. C99; link with -lgputopo.
 *
 * Functions that return int return a gputopo_status. They give results through pointers, which stay untouched on
 * failure; gputopo_last_error() then says in one line what failed and what to do. NULL for a required pointer is
 * GPUTOPO_ERROR_ARGUMENT. A report that was freed or never made is GPUTOPO_ERROR_HANDLE. Any function may return
 * GPUTOPO_ERROR_MEMORY or GPUTOPO_ERROR_INTERNAL.
 *
 * The library prints nothing, installs no signal handlers, never ends the process, and does not change the caller's
 * current CUDA context or HIP device. It calls back only on the thread that called it.
 *
 * Threads: several threads may call any function at a time, also with the same report. Discoveries of one GPU wait for
 * one another, also across processes (gputopo_options.wait).
 *
 * fork: no driver survives a fork. Once a process has discovered or listed GPUs, both fail in its children with
 * GPUTOPO_ERROR_FORKED; everything else works there. After exec, this does not apply.
 *
 * Text is UTF-8. docs/library.md has more, and examples/ has whole programs. */
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

/* 0xMMmmpp: the release of this header. gputopo_api_version() has that of the library in use. */
#define GPUTOPO_API_VERSION 0x000100

/* The result of a call. New values are added at the end. */
enum gputopo_status {
  GPUTOPO_OK = 0,
  GPUTOPO_UNAVAILABLE = 1,       /* this GPU has no such value: gputopo_value.reason says why */
  GPUTOPO_ERROR_ARGUMENT = 2,    /* NULL, an option out of range, or a wrong size */
  GPUTOPO_ERROR_HANDLE = 3,      /* not a report, or freed */
  GPUTOPO_ERROR_NAME = 4,        /* unknown value, element, attribute, format or device; the text names similar ones */
  GPUTOPO_ERROR_TYPE = 5,        /* the value is not a number */
  GPUTOPO_ERROR_FORMAT = 6,      /* not a gputopo report, or it lacks what the requested format needs */
  GPUTOPO_ERROR_FILE = 7,        /* a file cannot be read */
  GPUTOPO_ERROR_DEVICE = 8,      /* the GPU or its driver failed */
  GPUTOPO_ERROR_DEVICE_LOST = 9, /* the same, and this process can measure nothing more */
  GPUTOPO_ERROR_BUSY = 10,       /* another discovery is still measuring this GPU */
  GPUTOPO_ERROR_CANCELLED = 11,  /* cancelled before anything was measured */
  GPUTOPO_ERROR_FORKED = 12,     /* this process is a fork of one that has used the drivers */
  GPUTOPO_ERROR_MEMORY = 13,     /* the host is out of memory */
  GPUTOPO_ERROR_INTERNAL = 14    /* a bug in gputopo: please report it */
};

/* The name of a status: "ok", "unavailable", "argument", ...; "unknown" for other numbers. Never NULL. */
GPUTOPO_API const char* gputopo_status_name(int status);

/* One line on the last call of this thread that did not return GPUTOPO_OK: what failed and what to do. "" if there was
 * none. Valid until the next such call. Never NULL. */
GPUTOPO_API const char* gputopo_last_error(void);

/* The version of the library: "0.1.0". Never NULL. */
GPUTOPO_API const char* gputopo_version(void);
/* The version of the library in the form of GPUTOPO_API_VERSION. */
GPUTOPO_API uint32_t gputopo_api_version(void);

/* ---- Devices ---- */

typedef struct gputopo_device {
  const char* spec;        /* argument of gputopo_discover: "cuda:0", "hip:0", "sim:h200" */
  const char* name;        /* "NVIDIA H200" */
  const char* pci_address; /* "0000:0f:00.0"; "" if there is none */
  const char* detail;      /* one short phrase: compute capability and memory, or why the device is unusable */
} gputopo_device;

/* Lists the real devices of this machine, then the simulated ones. `devices`: an array that ends with NULL; free it
 * with gputopo_devices_free(). `problem` (may be NULL): one line if a driver exists but is unusable, else ""; free it
 * with gputopo_string_free(). It may take seconds if a driver was idle. GPUTOPO_ERROR_FORKED, _DEVICE_LOST. */
GPUTOPO_API int gputopo_list(gputopo_device*** devices, char** problem);
/* Ignores NULL. */
GPUTOPO_API void gputopo_devices_free(gputopo_device** devices);

/* ---- Reports ---- */

/* One report: everything known about one device. It never changes. */
typedef struct gputopo_report gputopo_report;

typedef struct gputopo_progress {
  const char* step; /* running step: "l1.size"; "" at the very end */
  size_t done;      /* finished steps, of `total` */
  size_t total;
  double elapsed_seconds;
} gputopo_progress;

enum gputopo_log_level {
  GPUTOPO_LOG_INFO = 0,   /* a decision and its reason */
  GPUTOPO_LOG_WARNING = 1 /* something that may make the result less than requested */
};

/* What to discover, and how. Call gputopo_options_init() first, then change members. Comments begin with the default.
 * Later versions add members at the end; `size` says which ones the caller has. */
typedef struct gputopo_options {
  uint32_t size;               /* sizeof(gputopo_options) */
  int32_t full;                /* 0: skips slow measurements; 1: as `gputopo --full` */
  const char* const* elements; /* as for `gputopo --only`: "l2", "l2.size", "instructions"; NULL: all */
  size_t element_count;
  const char* const* attributes; /* "size", "latency"; NULL: all */
  size_t attribute_count;
  double budget_seconds;  /* 60: values that do not fit are unavailable, GPUTOPO_REASON_TIMED_OUT */
  uint64_t seed;          /* 1: seeds the noise of simulated devices */
  int32_t keep_samples;   /* 0: drops tables of samples, the evidence behind plots; 1: keeps them */
  int32_t wait;           /* 1: waits for another discovery of the same GPU; 0: GPUTOPO_ERROR_BUSY instead */
  int32_t use_cache;      /* 0; 1: uses the cache of `gputopo get` and adds new results to it */
  double max_age_seconds; /* 0: any age; with use_cache, older results are measured again */
  /* Called on the thread of gputopo_discover(); may be NULL. They may call the library, but not throw or longjmp. */
  void (*progress)(void* user, const gputopo_progress* progress);
  void (*log)(void* user, int32_t level, const char* line);
  int32_t (*cancelled)(void* user); /* called some 20 times per second; not 0: ends after the running launch */
  void* user;                       /* argument of the three callbacks */
  double max_wait_seconds;          /* 600: with `wait`, the longest wait until GPUTOPO_ERROR_BUSY */
} gputopo_options;

/* Sets the defaults. `size`: sizeof(gputopo_options). */
GPUTOPO_API int gputopo_options_init(gputopo_options* options, size_t size);

/* Measures a device; takes some seconds. `device`: a gputopo_device.spec, "sim:FILE.json" or "replay:FILE"; NULL or
 * "": the first GPU; without one, GPUTOPO_ERROR_DEVICE. `options`: NULL for the defaults. The discovery uses up to
 * nine tenths of the GPU's free memory. Free `report` with gputopo_report_free().
 *
 * A discovery that ends early (options.cancelled, the budget, a lost device) also gives a report: gputopo_complete()
 * is 0, and missing values say why. GPUTOPO_ERROR_NAME, _FILE, _FORMAT, _DEVICE, _DEVICE_LOST, _BUSY, _CANCELLED,
 * _FORKED. */
GPUTOPO_API int gputopo_discover(const char* device, const gputopo_options* options, gputopo_report** report);

/* Reads a saved report: a file of `gputopo --json`, or its text of `length` bytes. GPUTOPO_ERROR_FILE, _FORMAT. */
GPUTOPO_API int gputopo_load(const char* path, gputopo_report** report);
GPUTOPO_API int gputopo_parse(const char* json, size_t length, gputopo_report** report);

/* Ignores NULL and anything that is not a report. Other threads that are reading the report may finish. */
GPUTOPO_API void gputopo_report_free(gputopo_report* report);

/* 1, or 0 if the discovery ended early. */
GPUTOPO_API int gputopo_complete(const gputopo_report* report, int32_t* complete);

/* Renders the report in a format, which is named like an option of the program: "json", "html", "csv", "markdown",
 * "mt4g-json", ...; "table" and "tree" are for a terminal. Free `text` with gputopo_string_free(). `length` (may be
 * NULL): bytes without the final 0. GPUTOPO_ERROR_NAME, _FORMAT (the report lacks a required value). */
GPUTOPO_API int gputopo_render(const gputopo_report* report, const char* format, char** text, size_t* length);

/* Ignores NULL. */
GPUTOPO_API void gputopo_string_free(char* text);

/* ---- Values ---- */

enum gputopo_type {
  GPUTOPO_TYPE_NONE = 0,    /* unavailable */
  GPUTOPO_TYPE_NUMBER = 1,  /* in `number` */
  GPUTOPO_TYPE_BOOLEAN = 2, /* in `number`: 0 or 1 */
  GPUTOPO_TYPE_TEXT = 3,    /* in `text` */
  GPUTOPO_TYPE_NUMBERS = 4, /* `count` of them in `numbers` */
  GPUTOPO_TYPE_TEXTS = 5,   /* `count` of them in `texts` */
  GPUTOPO_TYPE_GROUPS = 6   /* groups of SMs, one after another in `numbers`; group i ends before index group_ends[i] */
};

enum gputopo_source {
  GPUTOPO_SOURCE_UNAVAILABLE = 0,
  GPUTOPO_SOURCE_MEASURED = 1,
  GPUTOPO_SOURCE_API = 2,     /* reported by the vendor's interface */
  GPUTOPO_SOURCE_INFERRED = 3 /* from a table, or computed from other values */
};

/* Why there is no value. */
enum gputopo_reason {
  GPUTOPO_REASON_NONE = 0,           /* there is a value */
  GPUTOPO_REASON_NOT_APPLICABLE = 1, /* this element has no such attribute */
  GPUTOPO_REASON_NOT_SUPPORTED = 2,  /* this device does not report it or cannot run the experiment */
  GPUTOPO_REASON_NOT_PRESENT = 3,    /* the element does not exist here */
  GPUTOPO_REASON_INCONCLUSIVE = 4,   /* measured, but the samples do not decide */
  GPUTOPO_REASON_TIMED_OUT = 5,      /* the budget ran out first */
  GPUTOPO_REASON_INTERRUPTED = 6,    /* cancelled first */
  GPUTOPO_REASON_DEVICE_ERROR = 7,   /* the device failed during the measurement */
  GPUTOPO_REASON_DEPENDENCY = 8,     /* a value that it needs is unavailable */
  GPUTOPO_REASON_NOT_SELECTED = 9,   /* not requested */
  GPUTOPO_REASON_DISTURBED = 10,     /* other programs used the GPU at every attempt */
  GPUTOPO_REASON_NOT_IN_REPORT = 11  /* the report has no value of that name */
};

/* A value with its metadata. Initialize it with GPUTOPO_VALUE_INIT. It owns its memory. Later versions append members.
 */
typedef struct gputopo_value {
  uint32_t size;  /* sizeof(gputopo_value) */
  int32_t type;   /* gputopo_type: which of the members below hold the value */
  int32_t source; /* gputopo_source */
  int32_t reason; /* gputopo_reason */
  double number;  /* in `unit`; NaN if not a number */
  double low;     /* 95% confidence interval, in `unit`; NaN if there is none */
  double high;
  char* text;      /* the value as `gputopo get` prints it, for every type; "" if there is none */
  char* unit;      /* "B", "cycles", "B/s", "MHz"; "" for counts and names */
  char* detail;    /* one line on the reason; "" if there is a value */
  char* method;    /* how it was measured; "" if it was not */
  double* numbers; /* `count` of them, or NULL */
  char** texts;    /* `count` of them, or NULL */
  size_t count;
  size_t* group_ends; /* `group_count` of them, or NULL */
  size_t group_count;
} gputopo_value;

#define GPUTOPO_VALUE_INIT \
  { sizeof(gputopo_value), 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0 }

/* Gets a value by its path: "l2.latency", "compute.sm_count", "instructions.fma.f32.latency", "device.name". `value`
 * must come from GPUTOPO_VALUE_INIT or an earlier call, whose result is freed. Free it with gputopo_value_free(), also
 * after GPUTOPO_UNAVAILABLE, which fills in the reason. GPUTOPO_ERROR_NAME for an unknown path. */
GPUTOPO_API int gputopo_get(const gputopo_report* report, const char* path, gputopo_value* value);
/* Ignores NULL. Afterwards the value is as after GPUTOPO_VALUE_INIT. */
GPUTOPO_API void gputopo_value_free(gputopo_value* value);

/* Gets a number, or a boolean as 0 or 1, with nothing to free. `low` and `high` (may be NULL): the 95% interval, or
 * NaN. GPUTOPO_UNAVAILABLE if there is no value (gputopo_last_error() has the reason), GPUTOPO_ERROR_TYPE, _NAME. */
GPUTOPO_API int gputopo_number(const gputopo_report* report, const char* path, double* number, double* low,
                               double* high);

/* Names as in the JSON: "measured", "api", "inferred", "unavailable"; "timed_out", ...; else "unknown". Never NULL. */
GPUTOPO_API const char* gputopo_source_name(int32_t source);
GPUTOPO_API const char* gputopo_reason_name(int32_t reason);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(readability-identifier-naming,modernize-*) */

#endif
