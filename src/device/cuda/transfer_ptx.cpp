#include "device/cuda/transfer_ptx.h"

#include "device/cuda/ptx_text.h"
#include "gputopo/program/transfer.h"

namespace gputopo::cuda {
namespace {

constexpr std::uint32_t kVectorsInFlight = 8;
constexpr int kFirstWithScopes = 60;

// The start of each thread of all blocks, and its advance with each turn: %offset and %step, in bytes.
constexpr std::string_view kBeginStream =
    R"(.visible .entry {name}(.param .u64 memory, .param .u64 bytes, .param .u32 passes, .param .u32 word, .param .u64 sink)
{
  .reg .pred %more, %never;
  .reg .b32 %r0, %r1, %r2, %passes, %word, %sum;
  .reg .b64 %memory, %bytes, %sink, %offset, %begin, %step, %place;)";

constexpr std::string_view kSetStream = R"(
  ld.param.u64 %memory, [memory];
  ld.param.u64 %bytes, [bytes];
  ld.param.u32 %passes, [passes];
  ld.param.u32 %word, [word];
  ld.param.u64 %sink, [sink];
  mov.u32 %sum, 0;

  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mad.lo.u32 %r2, %r0, %r1, %r2;
  mov.u32 %r0, %nctaid.x;
  mul.lo.u32 %r0, %r0, %r1;
mul.wide.u32 %offset, %r2, 16;
mul.wide.u32 %step, %r0, 16;
mov.u64 %begin, %offset;
PASS:
mov.u64 %offset, %begin;
TURN:)";

constexpr std::string_view kReadVector = R"(mov.u32 %v{i}_0, 0;
mov.u32 %v{i}_1, 0;
mov.u32 %v{i}_2, 0;
mov.u32 %v{i}_3, 0;
@%in{i} ld.global.cg.v4.u32 {%v{i}_0, %v{i}_1, %v{i}_2, %v{i}_3}, [%at{i}];)";

constexpr std::string_view kWriteVector = "@%in{i} st.global.v4.u32 [%at{i}], {%word, %word, %word, %word};";

// Each pass goes over all bytes, kVectorsInFlight vectors of each thread at a time.
void stream_kernel(PtxText& text, bool reads) {
  text.add(kBeginStream, {{"name", reads ? "read" : "write"}});
  text.repeat(kVectorsInFlight, R"(  .reg .pred %in{i};
  .reg .b64 %at{i};
  .reg .b32 %v{i}_0;
  .reg .b32 %v{i}_1;
  .reg .b32 %v{i}_2;
  .reg .b32 %v{i}_3;)");
  text.add(kSetStream);
  text.repeat(kVectorsInFlight, R"(setp.lt.u64 %in{i}, %offset, %bytes;
add.u64 %at{i}, %memory, %offset;
add.u64 %offset, %offset, %step;)");
  text.repeat(kVectorsInFlight, reads ? kReadVector : kWriteVector);
  for (std::uint32_t i = 0; reads && i < kVectorsInFlight; ++i) {
    for (int word = 0; word < 4; ++word) text.line("xor.b32 %sum, %sum, %v{}_{};", i, word);
  }
  text.add(R"(setp.lt.u64 %more, %offset, %bytes;
@%more bra TURN;
sub.u32 %passes, %passes, 1;
setp.ne.u32 %more, %passes, 0;
@%more bra PASS;)");
  // The compiler cannot know that the sum differs from this word.
  if (reads) text.add("setp.eq.u32 %never, %sum, %word;\n@%never st.global.u32 [%sink], %sum;");
  end_kernel(text);
}

// One thread of each block follows the chain from its own place: `warm` accesses, then `count` timed ones. The record
// of a block is the time of the timed ones in ns.
void chase_kernel(PtxText& text, std::string_view name, std::string_view access) {
  text.add(
      R"(.visible .entry {name}(.param .u64 memory, .param .u64 apart, .param .u32 warm, .param .u32 count, .param .u64 records)
{
  .reg .pred %more, %again, %never;
  .reg .b32 %block, %left, %count;
  .reg .b64 %next, %apart, %records, %wide, %start, %end, %zero;
  ld.param.u64 %next, [memory];
  ld.param.u64 %apart, [apart];
  ld.param.u32 %left, [warm];
  ld.param.u32 %count, [count];
  ld.param.u64 %records, [records];
  mov.u64 %zero, 0;
  mov.u32 %block, %ctaid.x;
  cvt.u64.u32 %wide, %block;
  mad.lo.u64 %next, %wide, %apart, %next;
  mul.wide.u32 %wide, %block, 8;
  add.u64 %records, %records, %wide;
  setp.ne.u32 %again, %count, 0;
PHASE:
  mov.u64 %start, %globaltimer;
STEP:
{access}

  sub.u32 %left, %left, 1;
  setp.ne.u32 %more, %left, 0;
  @%more bra STEP;
  setp.eq.u64 %never, %next, 0;
  @%never bra LEAVE;
  mov.u64 %end, %globaltimer;
  mov.u32 %left, %count;
  mov.u32 %count, 0;
  setp.ne.u32 %again, %left, 0;
  @%again bra PHASE;
  sub.u64 %end, %end, %start;
  st.global.u64 [%records], %end;
LEAVE:
  ret;
})",
      {{"name", name}, {"access", access}});
}

// One thread stores, waits until the store is visible to the whole system, and moves on to another line.
void store_kernel(PtxText& text) {
  text.add(R"(.visible .entry store(.param .u64 memory, .param .u64 lines, .param .u32 count, .param .u64 records)
{
  .reg .pred %more, %wrap;
  .reg .b32 %left;
  .reg .b64 %memory, %place, %lines, %line, %records, %start, %end, %value;
  ld.param.u64 %memory, [memory];
  ld.param.u64 %lines, [lines];
  ld.param.u32 %left, [count];
  ld.param.u64 %records, [records];
  mov.u64 %value, 1;
  mov.u64 %line, 0;
  mov.u64 %start, %globaltimer;
STEP:
mul.lo.u64 %place, %line, {transfer_stride};

  add.u64 %place, %place, %memory;
  st.volatile.global.u64 [%place], %value;
  membar.sys;
  add.u64 %line, %line, 1;
  setp.eq.u64 %wrap, %line, %lines;
  @%wrap mov.u64 %line, 0;
  sub.u32 %left, %left, 1;
  setp.ne.u32 %more, %left, 0;
  @%more bra STEP;
  mov.u64 %end, %globaltimer;
  sub.u64 %end, %end, %start;
  st.global.u64 [%records], %end;
  ret;
})",
           {{"transfer_stride", kTransferStride}});
}

}  // namespace

std::string generate_transfer_ptx(const PtxTarget& target) {
  PtxText text(target);
  stream_kernel(text, true);
  stream_kernel(text, false);
  const auto atomic = [&](std::string_view scope) {
    return fmt::format("atom{}.global.add.u64 %next, [%next], %zero;", target.sm >= kFirstWithScopes ? scope : "");
  };
  chase_kernel(text, "load", "ld.volatile.global.u64 %next, [%next];");
  chase_kernel(text, "atomic", atomic(".sys"));
  chase_kernel(text, "atomic_of_gpu", atomic(".gpu"));
  store_kernel(text);
  return text.take();
}

}  // namespace gputopo::cuda
