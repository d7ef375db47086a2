#include "pair_alignment/pair_path.hpp"
#include <edlib.h>
namespace sluice::pair_alignment {
std::int64_t PairAligner::align(std::string_view q, std::string_view t, std::vector<std::uint32_t>& cigar) {
  cigar.clear();
  EdlibAlignResult r = edlibAlign(q.data(), q.size(), t.data(), t.size(), edlibNewAlignConfig(-1, EDLIB_MODE_NW, EDLIB_TASK_PATH, nullptr, 0));
  for (int i = 0; i < r.alignmentLength; ++i) {
    const std::uint32_t op = r.alignment[i] == 1 ? 1 : r.alignment[i] == 2 ? 2 : 0;
    if (!cigar.empty() && (cigar.back() & 15) == op) cigar.back() += 16; else cigar.push_back(16 | op);
  }
  const auto d = r.editDistance;
  edlibFreeAlignResult(r);
  return d;
}
}
