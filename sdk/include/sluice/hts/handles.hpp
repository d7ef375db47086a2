// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What HTSlib hands out, as handles that give it back.

#include <htslib/bgzf.h>
#include <htslib/hts.h>
#include <htslib/kstring.h>
#include <htslib/sam.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string_view>

namespace sluice::hts {

struct Release {
  void operator()(BGZF* file) const { bgzf_close(file); }
  void operator()(htsFile* file) const { hts_close(file); }
  void operator()(sam_hdr_t* header) const { sam_hdr_destroy(header); }
  void operator()(bam1_t* record) const { bam_destroy1(record); }
  void operator()(hts_idx_t* index) const { hts_idx_destroy(index); }
  void operator()(hts_itr_t* iterator) const { hts_itr_destroy(iterator); }
};
// Where the result of closing matters (an output), release() the handle and call the function.
using Bgzf = std::unique_ptr<BGZF, Release>;
using File = std::unique_ptr<htsFile, Release>;
using Header = std::unique_ptr<sam_hdr_t, Release>;
using Record = std::unique_ptr<bam1_t, Release>;
using Index = std::unique_ptr<hts_idx_t, Release>;
using Iterator = std::unique_ptr<hts_itr_t, Release>;

// The memory of bgzf_getline() and other functions that fill a kstring_t.
struct Line : kstring_t {
  Line() : kstring_t{0, 0, nullptr} {}
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  ~Line() { std::free(s); }
};

// What a function of HTSlib returns, which below 0 says that it failed. Throws std::bad_alloc where that was for want of memory.
template <class Function>
auto with_memory(Function&& function) {
  errno = 0;
  const auto result = function();
  if (result < 0 && errno == ENOMEM) throw std::bad_alloc();
  return result;
}
inline int add_header_lines(sam_hdr_t& header, std::string_view lines) {
  return with_memory([&] { return sam_hdr_add_lines(&header, lines.data(), lines.size()); });
}

// A header's lines, which HTSlib puts together when it is asked. Throws std::bad_alloc.
inline std::string_view header_text(sam_hdr_t& header) {
  const std::size_t bytes = sam_hdr_length(&header);
  if (bytes == SIZE_MAX) throw std::bad_alloc();
  return bytes == 0 ? std::string_view() : std::string_view(sam_hdr_str(&header), bytes);
}

// HTSlib prints what goes wrong to standard error. Stages say it themselves, once and with the file's name. For the whole program.
inline void silence() { hts_set_log_level(HTS_LOG_OFF); }

// After the last byte: was a BGZF file cut, so that it lacks its empty block at the end?
inline bool lacks_end(const BGZF& file) { return file.is_compressed != 0 && file.is_gzip == 0 && file.no_eof_block != 0; }

}  // namespace sluice::hts
