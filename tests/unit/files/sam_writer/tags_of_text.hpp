// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Tags as BAM has them, made of those of a line of SAM by HTSlib.

#include <doctest/doctest.h>
#include <htslib/kstring.h>
#include <htslib/sam.h>

#include <sluice/hts/handles.hpp>
#include <string>

inline std::string tags_of_text(const std::string& tags) {
  const std::string line = "r\t4\t*\t0\t0\t*\t*\t0\t0\t*\t*" + (tags.empty() ? tags : "\t" + tags);
  const sluice::hts::Header header(sam_hdr_init());
  const sluice::hts::Record record(bam_init1());
  kstring_t text = KS_INITIALIZE;
  kputsn(line.data(), line.size(), &text);
  REQUIRE(sam_parse1(&text, header.get(), record.get()) >= 0);
  ks_free(&text);
  return {reinterpret_cast<const char*>(bam_get_aux(record.get())), static_cast<std::size_t>(bam_get_l_aux(record.get()))};
}
