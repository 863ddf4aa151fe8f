/* tile_size [DEVICE]: tiles of a matrix product for this GPU, of shared memory and L2.
 *
 * A block computes a square tile of C from slices of A and B that it stages in shared memory, three deep. Blocks that
 * run at a time walk over C in squares, so that the slices they share stay in L2. DEVICE is as `gputopo list` calls it,
 * and the first GPU if it is not given. The values are kept in gputopo's cache: only the first run measures.
 */
#include <gputopo/gputopo.h>
#include <stdio.h>
#include <stdlib.h>

#define ELEMENT_BYTES 4.0 /* float */
#define SLICE 32.0        /* elements of K that are staged at a time */
#define STAGES 3.0
#define STEP 16 /* of tiles: what a warp computes of one */

static double number(const gputopo_report* report, const char* path) {
  double value = 0;
  if (gputopo_number(report, path, &value, NULL, NULL) != GPUTOPO_OK) {
    fprintf(stderr, "tile_size: %s\n", gputopo_last_error());
    exit(EXIT_FAILURE);
  }
  return value;
}

/* The largest tile of which `blocks` fit in an SM's shared memory, each within what one block may have. */
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

  tile = tile_of(per_sm, per_block, 2); /* two blocks hide one another's waits */
  /* The blocks of a wave are about a square of this side; half of L2 holds slices of so many elements of K. */
  for (side = 1; (side + 1) * (side + 1) <= 2 * sms; ++side) {
  }
  printf("tile %d x %d, %d x %d tiles at a time, K in parts of %.0f\n", tile, tile, side, side,
         l2 / 2 / (2 * side * tile * ELEMENT_BYTES));
  return EXIT_SUCCESS;
}
