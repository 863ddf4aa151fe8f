/* node_check BASELINE.json [DEVICE]: warns if this node's GPU is slower than its baseline.
 *
 * The baseline is a report of a healthy GPU of the same model: gputopo --json BASELINE.json. A value is worse if it
 * differs by more than 5% and the 95% confidence intervals do not overlap. Exit code 1: at least one warning.
 */
#include <gputopo/gputopo.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define TOLERANCE 0.05

static const char* const kValues[] = {"l2.latency", "device.latency", "l2.read_bandwidth", "device.read_bandwidth"};
static const int kMoreIsBetter[] = {0, 0, 1, 1};
#define COUNT (sizeof kValues / sizeof kValues[0])

struct measured {
  double value, low, high;
};

static int read_value(const gputopo_report* report, const char* path, struct measured* into) {
  if (gputopo_number(report, path, &into->value, &into->low, &into->high) != GPUTOPO_OK) return 0;
  if (isnan(into->low)) into->low = into->value;
  if (isnan(into->high)) into->high = into->value;
  return 1;
}

static int is_worse(struct measured now, struct measured before, int more_is_better) {
  if (more_is_better) return now.value < before.value * (1 - TOLERANCE) && now.high < before.low;
  return now.value > before.value * (1 + TOLERANCE) && now.low > before.high;
}

static int compare(const gputopo_report* now, const gputopo_report* baseline) {
  int warnings = 0;
  size_t i;
  for (i = 0; i < COUNT; ++i) {
    struct measured before, found;
    if (!read_value(baseline, kValues[i], &before)) continue; /* not in the baseline */
    if (!read_value(now, kValues[i], &found)) {
      printf("warning: %s\n", gputopo_last_error());
      ++warnings;
    } else if (is_worse(found, before, kMoreIsBetter[i])) {
      printf("warning: %s is %g, and %g in the baseline\n", kValues[i], found.value, before.value);
      ++warnings;
    }
  }
  return warnings;
}

int main(int argc, char** argv) {
  gputopo_report *baseline = NULL, *now = NULL;
  gputopo_options options;
  int warnings;
  if (argc < 2) {
    fprintf(stderr, "usage: node_check BASELINE.json [DEVICE]\n");
    return 2;
  }
  gputopo_options_init(&options, sizeof options);
  options.elements = kValues;
  options.element_count = COUNT;
  if (gputopo_load(argv[1], &baseline) != GPUTOPO_OK ||
      gputopo_discover(argc > 2 ? argv[2] : NULL, &options, &now) != GPUTOPO_OK) {
    fprintf(stderr, "node_check: %s\n", gputopo_last_error());
    gputopo_report_free(baseline);
    return 2;
  }
  warnings = compare(now, baseline);
  if (warnings == 0) printf("as the baseline\n");
  gputopo_report_free(now);
  gputopo_report_free(baseline);
  return warnings == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
