// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/finished_path.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace sluice::base_alignment;

namespace {

using Cigar = std::vector<std::uint32_t>;

std::vector<std::uint8_t> codes(std::string_view text) {
  std::vector<std::uint8_t> made;
  for (const char base : text) made.push_back(static_cast<std::uint8_t>(std::string_view("ACGTN").find(base)));
  return made;
}
Cigar cigar_of(std::string_view text) {
  Cigar cigar;
  std::uint32_t bases = 0;
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      bases = bases * 10 + static_cast<std::uint32_t>(c - '0');
      continue;
    }
    cigar.push_back(bases << 4 | static_cast<std::uint32_t>(std::string_view("MIDNSHP=X").find(c)));
    bases = 0;
  }
  return cigar;
}
std::string text(const Cigar& cigar) {
  std::string made;
  for (const std::uint32_t operation : cigar) made += std::to_string(operation >> 4) + "MIDNSHP=X"[operation & 15U];
  return made;
}
std::string normalized(std::string_view cigar, std::string_view query, std::string_view target) {
  Cigar made = cigar_of(cigar);
  normalize(made, codes(query), codes(target));
  return text(made);
}

AlignedHit finished(std::string_view cigar, std::string_view query, std::string_view target, bool eqx = false, bool reverse = false) {
  AlignmentSettings settings;
  settings.eqx = eqx;
  AlignedHit hit;
  hit.cigar = cigar_of(cigar);
  hit.reverse = reverse;
  hit.query_end = static_cast<std::int32_t>(query.size());
  hit.target_end = static_cast<std::int32_t>(target.size());
  finish_path(settings, codes(query), codes(target), hit);
  return hit;
}

}  // namespace

TEST_CASE("the best score is that of columns and gaps added one by one") {
  std::mt19937 random(5);
  const Scores scores;
  const auto letters = [&](std::uint32_t count) {
    std::string made;
    while (made.size() < count) made += random() % 40 == 0 ? 'N' : "ACGT"[random() % 4];
    return made;
  };
  for (int round = 0; round < 500; ++round) {
    std::string query, target, cigar;
    for (std::uint32_t i = 0, count = 1 + 2 * (random() % 40); i < count; ++i) {
      const std::uint32_t bases = 1 + random() % (i % 2 == 0 ? 60 : 20);
      const std::string part = letters(bases);
      cigar += std::to_string(bases) + (i % 2 == 0 ? 'M' : random() % 2 == 0 ? 'I' : 'D');
      if (cigar.back() != 'D') query += part;
      if (cigar.back() != 'I') target += part;
      if (cigar.back() == 'M')
        for (std::size_t at = query.size() - bases; at < query.size(); ++at)
          if (random() % 5 == 0) query[at] = "ACGTN"[random() % 5];
    }
    const AlignedHit hit = finished(cigar, query, target);
    double score = 0, best = 0;
    std::size_t q = static_cast<std::size_t>(hit.query_start), t = static_cast<std::size_t>(hit.target_start);
    for (const std::uint32_t operation : hit.cigar) {
      const std::int32_t bases = bases_of(operation);
      if (is_gap(operation)) {
        score -= scores.gap_open + static_cast<double>(scores.gap_extend) * static_cast<double>(quick_log2(static_cast<float>(1.0 + bases)));
        score = std::max(score, 0.0);
        (code_of(operation) == insertion ? q : t) += operation >> 4;
        continue;
      }
      for (std::int32_t column = 0; column < bases; ++column, ++q, ++t) {
        const bool ambiguous = query[q] == 'N' || target[t] == 'N';
        score = std::max(0.0, score + (ambiguous ? -scores.ambiguous : query[q] == target[t] ? scores.match : -scores.mismatch));
        best = std::max(best, score);
      }
    }
    CHECK(hit.best_score == static_cast<std::int32_t>(best + .499));
  }
}

TEST_CASE("a gap moves to the left as far as nothing changes, and what meets becomes one") {
  CHECK(normalized("4M1I2M", "ACCCCGT", "ACCCGT") == "1M1I5M");
  CHECK(normalized("3M1D3M", "AAATTT", "AAAATTT") == "1D6M");
  CHECK(normalized("2M1D2M1D2M", "GAACTT", "GAAACTTT") == "1M1D3M1D2M");
  CHECK(normalized("2M5D6I2M", "AACCCCCCTT", "AAGGGGGTT") == "2M5D6I2M");
  CHECK(normalized("2M5D6I7D2M", "AACCCCCCTT", "AAGGGGGTTTTTTTTT") == "2M6I12D2M");
}

TEST_CASE("a gap at the beginning is dropped with its bases") {
  const AlignedHit inserted = finished("2I4M", "GGACGT", "ACGT"), reverse = finished("2I4M", "GGACGT", "ACGT", false, true);
  CHECK(text(inserted.cigar) == "4M");
  CHECK(inserted.query_start == 2);
  CHECK(reverse.query_start == 0);
  CHECK(reverse.query_end == 4);
  const AlignedHit deleted = finished("3D4M", "ACGT", "GGGACGT");
  CHECK(deleted.target_start == 3);
  CHECK(deleted.matches == 4);
  CHECK(text(finished("4M3D", "ACGT", "ACGTGGG").cigar) == "4M3D");
}

TEST_CASE("columns, ambiguous ones and the best part's score are counted") {
  const AlignedHit hit = finished("4M2I4M1D2M", "ACGTNCACGTGG", "ACGTACNTCGG");
  CHECK(hit.columns == 11);
  CHECK(hit.ambiguous == 2);
  CHECK(hit.matches == 9);
  CHECK(hit.best_score == 8);
  CHECK(identity_of(hit) == doctest::Approx(9.0 / (11 + 2 - 3 + 2)));
}

TEST_CASE("= and X take the place of M, but not where no M has both") {
  CHECK(text(finished("4M", "ACGT", "AGGT", true).cigar) == "1=1X2=");
  CHECK(text(finished("4M1I2M", "ACGTCAA", "ACGTAA", true).cigar) == "4=1I2=");
  CHECK(text(finished("4M1I2M", "ACGTCTT", "ACGTAA", true).cigar) == "4=1I2=");
}

TEST_CASE("the tags of an alignment say what it is") {
  const auto query = codes("ACGTTNAC"), target = codes("ACCTNGGAC");
  const Cigar cigar = cigar_of("4M1I1M2D2M");
  std::string difference, long_difference, mismatches;
  append_difference(difference, cigar, query, target, DifferenceForm::short_form);
  append_difference(long_difference, cigar, query, target, DifferenceForm::long_form);
  append_mismatched_reference(mismatches, cigar, query, target);
  CHECK(difference == ":2*cg:1+t:1-gg:2");
  CHECK(long_difference == "=AC*cg=T+t=N-gg=AC");
  CHECK(mismatches == "2C2^GG2");
  std::string ends;
  append_mismatched_reference(ends, cigar_of("3M"), codes("ACG"), codes("ACT"));
  CHECK(ends == "2T");
}

TEST_CASE("ds brackets the bases by which a gap could be shifted") {
  const auto shown = [](std::string_view cigar, std::string_view query, std::string_view target) {
    std::string made;
    append_difference(made, cigar_of(cigar), codes(query), codes(target), DifferenceForm::short_form, Shifts::shown);
    return made;
  };
  CHECK(shown("2M2I6M", "TTACACACGG", "TTACACGG") == ":2+[ac]:6");
  CHECK(shown("2M3I3M", "TTGATGCC", "TTGCC") == ":2+[g]a[t]:3");
  CHECK(shown("2M3D3M", "TTGCC", "TTGATGCC") == ":2-[g]a[t]:3");
  CHECK(shown("2M2I2M", "AACGTT", "AATT") == ":2+cg:2");
}

TEST_CASE("an intron has a sign of its own in cs, none in MD, and costs nothing in the score of the best part") {
  const auto query = codes("AACC"), target = codes("AAGTCCCAGCC");
  std::string difference, mismatches;
  append_difference(difference, cigar_of("2M7N2M"), query, target, DifferenceForm::short_form);
  append_mismatched_reference(mismatches, cigar_of("2M7N2M"), query, target);
  CHECK(difference == ":2~gt7ag:2");
  CHECK(mismatches == "4");
  const AlignedHit hit = finished("2M7N2M", "AACC", "AAGTCCCAGCC");
  CHECK(hit.spliced);
  CHECK(hit.columns == 4);
  CHECK(hit.path_score == 8);
  CHECK(text(finished("2M7N2M", "AACC", "AAGTCCCAGCG", true).cigar) == "2=7N1=1X");
  CHECK(normalized("2M1I4N2M", "AAACC", "AAGTAGCC") == "2M1I4N2M");  // no gap is shifted beside an intron
}

TEST_CASE("whatever the path, it still aligns the same bases, with no more differences") {
  std::mt19937 random(5);
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::uint8_t> query, target;
    Cigar cigar;
    for (std::uint32_t i = 0, operations = 1 + random() % 9; i < operations; ++i) {
      const std::uint32_t bases = 1 + random() % 5, code = cigar.empty() || (cigar.back() & 15U) != 0 ? random() % 3 : 1 + random() % 2;
      if (!cigar.empty() && (cigar.back() & 15U) == code) continue;
      cigar.push_back(bases << 4 | code);
      for (std::uint32_t b = 0; b < bases; ++b) {
        if (code != 2) query.push_back(random() % 2);
        if (code != 1) target.push_back(random() % 2);
        if (code == 0 && random() % 4 != 0) target.back() = query.back();
      }
    }
    const auto measure = [&](const Cigar& path) {
      struct {
        std::size_t q = 0, t = 0;
        int different = 0;
      } m;
      for (const std::uint32_t operation : path) {
        const std::uint32_t code = operation & 15U;
        for (std::uint32_t b = 0; b < operation >> 4; ++b) {
          if (code == 0) m.different += query[m.q] != target[m.t] ? 1 : 0;
          m.q += code != 2 ? 1 : 0;
          m.t += code != 1 ? 1 : 0;
        }
      }
      return m;
    };
    const auto before = measure(cigar);
    Cigar after_path = cigar;
    normalize(after_path, query, target);
    const auto after = measure(after_path);
    CHECK(after.q == before.q);
    CHECK(after.t == before.t);
    for (std::size_t k = 0; k < after_path.size() && after_path.size() > 1; ++k) CHECK(after_path[k] > 15);
  }
}
