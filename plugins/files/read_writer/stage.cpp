// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <htslib/kstring.h>
#include <htslib/sam.h>

#include <algorithm>
#include <cstdint>
#include <sluice/file_joining.hpp>
#include <sluice/hts/join_text.hpp>
#include <sluice/hts/text_output.hpp>
#include <sluice/resume.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::read_writer {
namespace {

enum class Reason { quality_length };

// A record without bases is nothing to its reader.
void say_written(const Call& call, const Batch& in) {
  const TextView bases = in.text("bases");
  std::uint64_t written = 0;
  for (std::int64_t row = 0; row < in.rows(); ++row) written += in.ok(row) && !bases[row].empty() ? 1 : 0;
  call.outcome("written", written, static_cast<std::uint64_t>(in.rows()));
}

// Tags as in BAM, as SAM has them, each behind a tab. What is no tag ends them.
std::string comment_of(std::string_view tags) {
  kstring_t text = KS_INITIALIZE;
  const auto* at = reinterpret_cast<const std::uint8_t*>(tags.data());
  const std::uint8_t* const end = at + tags.size();
  while (at != nullptr && end - at >= 4) {
    const std::size_t before = text.l;
    kputc_('\t', &text);
    at = sam_format_aux1(at, at[2], at + 3, end, &text);
    if (at == nullptr) text.l = before;
  }
  std::string comment(text.s == nullptr ? "" : text.s, text.l);
  ks_free(&text);
  return comment;
}

class FastqWriter : public hts::JoinsText<> {
 public:
  struct Parameters {
    Path output;
    std::string format = "fastq";
    bool tag_comments = false;
  };

  static void describe(Describe<FastqWriter>& d) {
    d.id("fastq_writer")
        .sink("read")
        .concatenates()
        .summary("writes reads as FASTQ or FASTA")
        .doc(
            "Bases in sequencing orientation. Without the column `qualities` every base of a FASTQ gets the quality 0 (!). A name that ends with .gz "
            "makes BGZF, .zst zstd; BGZF is what gzip "
            "reads and samtools faidx can index.")
        .work_unit("base");
    d.needs("read_id", "utf8", "identifier")
        .needs("bases", "utf8", "sequencing orientation")
        .needs("qualities", "utf8", "Phred + 33, as many as bases", Needed::optional)
        .needs("tags", "binary", "tags of the reads, as in BAM", Needed::optional);
    d.option("output", &Parameters::output, "file to write; .gz: BGZF; .zst: zstd; - is standard output").required().writes();
    d.option("format", &Parameters::format, "what to write").choices({"fastq", "fasta"});
    d.option("tag_comments", &Parameters::tag_comments, "write the tags behind the names, with tabs between them, as samtools fastq -T does");
    d.reason("quality_length", "the read has another number of qualities than of bases");
  }

  FastqWriter(const Setup& setup, const Parameters& parameters)
      : is_fastq_(parameters.format == "fastq"),
        has_qualities_(is_fastq_ && setup.available("qualities")),
        has_comments_(parameters.tag_comments && setup.available("tags")),
        file_(setup, parameters.output) {
    resume(setup, [this](StateReader& from) { file_.restore(from); });
  }

  void process(const Call&, const Batch& in, Output& out) {
    const TextView ids = in.text("read_id"), bases = in.text("bases");
    const TextView qualities = has_qualities_ ? in.text("qualities") : bases;
    const auto writable = [&](std::int64_t row) { return in.ok(row) && qualities[row].size() == bases[row].size(); };
    for (std::int64_t row = 0; row < in.rows(); ++row)
      if (in.ok(row) && !writable(row)) out.fail(row, Reason::quality_length);
    std::vector<std::string> comments(static_cast<std::size_t>(in.rows()));
    if (has_comments_) {
      const TextView tags = in.text("tags");
      for (std::int64_t row = 0; row < in.rows(); ++row)
        if (writable(row)) comments[static_cast<std::size_t>(row)] = comment_of(tags[row]);
    }
    const Buffer ends = out.offsets([&](std::int64_t row) {
      if (!writable(row)) return std::size_t{0};
      return ids[row].size() + comments[static_cast<std::size_t>(row)].size() + bases[row].size() + (is_fastq_ ? bases[row].size() + 6 : 3);
    });
    char* at = out.text("_text", ends).data();
    const auto put = [&at](std::string_view text) { at = std::copy(text.begin(), text.end(), at); };
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!writable(row)) continue;
      put(is_fastq_ ? "@" : ">");
      put(ids[row]);
      put(comments[static_cast<std::size_t>(row)]);
      put("\n");
      put(bases[row]);
      put("\n");
      if (!is_fastq_) continue;
      put("+\n");
      if (has_qualities_)
        put(qualities[row]);
      else
        at = std::fill_n(at, bases[row].size(), '!');
      put("\n");
    }
  }
  void commit(const Call& call, const Batch& in) {
    file_.write_rows(call, in.text("_text"));
    say_written(call, in);
  }
  void finish(const Call& call, Output&) { file_.finish(call); }
  void save(const Call& call, StateWriter& to) { file_.save(call, to); }

 private:
  bool is_fastq_, has_qualities_, has_comments_;
  hts::TextOutput file_;
};

class FastaWriter : public hts::JoinsText<> {
 public:
  struct Parameters {
    Path output;
    std::int64_t line_length = 80;
  };

  static void describe(Describe<FastaWriter>& d) {
    d.id("fasta_writer")
        .sink("contig")
        .concatenates()
        .summary("writes contigs as FASTA")
        .doc("A name that ends with .gz makes BGZF, which gzip reads and samtools faidx can index.")
        .work_unit("base");
    d.needs("name", "utf8", "contig name").needs("bases", "utf8", "its sequence");
    d.option("output", &Parameters::output, "file to write; .gz: BGZF; .zst: zstd; - is standard output").required().writes();
    d.option("line_length", &Parameters::line_length, "bases a line").range(1, 1e9);
  }

  FastaWriter(const Setup& setup, const Parameters& parameters)
      : line_length_(static_cast<std::size_t>(parameters.line_length)), file_(setup, parameters.output) {
    resume(setup, [this](StateReader& from) { file_.restore(from); });
  }

  void process(const Call&, const Batch& in, Output& out) {
    const TextView names = in.text("name"), bases = in.text("bases");
    const Buffer ends = out.offsets([&](std::int64_t row) {
      if (!in.ok(row)) return std::size_t{0};
      return names[row].size() + 2 + bases[row].size() + (bases[row].size() + line_length_ - 1) / line_length_;
    });
    char* at = out.text("_text", ends).data();
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      *at++ = '>';
      at = std::copy(names[row].begin(), names[row].end(), at);
      *at++ = '\n';
      for (std::size_t start = 0; start < bases[row].size(); start += line_length_) {
        const std::string_view line = bases[row].substr(start, line_length_);
        at = std::copy(line.begin(), line.end(), at);
        *at++ = '\n';
      }
    }
  }
  void commit(const Call& call, const Batch& in) {
    file_.write_rows(call, in.text("_text"));
    say_written(call, in);
  }
  void finish(const Call& call, Output&) { file_.finish(call); }
  void save(const Call& call, StateWriter& to) { file_.save(call, to); }

 private:
  std::size_t line_length_;
  hts::TextOutput file_;
};

}  // namespace
}  // namespace sluice::read_writer

SLUICE_PLUGIN_WITH((sluice::file_joining<sluice::read_writer::FastqWriter, sluice::read_writer::FastaWriter>), "read_writer", "0.1.0", "MIT",
                   sluice::read_writer::FastqWriter, sluice::read_writer::FastaWriter);
