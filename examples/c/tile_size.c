/* tile_size [DEVICE]: computes tile sizes of a matrix product that fit this GPU's shared memory and L2.
 *
 * A block computes a square tile of C from slices of A and B, which it stages in shared memory, three slices deep.
 * The blocks that run at the same time cover a square of C, so the slices they share stay in L2. DEVICE is a name from
 * `gputopo list`; the default is the first GPU. gputopo's cache keeps the values, so only the first run measures.
 */
#include <gputopo/gputopo.h>
#include <stdio.h>
#include <stdlib.h>

#define ELEMENT_BYTES 4.0 /* float */
#define SLICE 32.0        /* elements of K in one stage */
#define STAGES 3.0
#define STEP 16 /* tile of one warp; block tiles are multiples */

static double number(const gputopo_report* report, const char* path) {
  double value = 0;
  if (gputopo_number(report, path, &value, NULL, NULL) != GPUTOPO_OK) {
    fprintf(stderr, "tile_size: %s\n", gputopo_last_error());
    exit(EXIT_FAILURE);
  }
  return value;
}

/* The largest tile such that `blocks` blocks fit an SM's shared memory, each within the limit of one block. */
static int tile_of(double sm_bytes, double block_bytes, double blocks) {
  const double room = sm_bytes / blocks < block_bytes ? sm_bytes / blocks : block_bytes;
  return (int)(room / (STAGES * 2 * SLICE * ELEMENT_BYTES)) / STEP * STEP;
}

int main(int argc, char** argv) {
  static const char* const kNeeded[] = {"l2.size", "shared.size"};
  gputopo_options options;
  gputopo_report* report = NULL;
  double l2, per_sm, per_block, sms;
  int tile, side;
  gputopo_options_init(&options, sizeof options);
  options.elements = kNeeded;
  options.element_count = 2;
  options.use_cache = 1;
  if (gputopo_discover(argc > 1 ? argv[1] : NULL, &options, &report) != GPUTOPO_OK) {
    fprintf(stderr, "tile_size: %s\n", gputopo_last_error());
    return EXIT_FAILURE;
  }
  l2 = number(report, "l2.size");
  per_sm = number(report, "shared.size");
  per_block = number(report, "compute.shared_memory_per_block_opt_in");
  sms = number(report, "compute.sm_count");
  gputopo_report_free(report);

  tile = tile_of(per_sm, per_block, 2); /* two blocks hide each other's latency */
  /* The blocks of a wave cover about side x side tiles. Half of L2 holds the slices for the printed part of K. */
  for (side = 1; (side + 1) * (side + 1) <= 2 * sms; ++side) {
  }
  printf("tile %d x %d, %d x %d tiles at a time, K in parts of %.0f\n", tile, tile, side, side,
         l2 / 2 / (2 * side * tile * ELEMENT_BYTES));
  return EXIT_SUCCESS;
}
