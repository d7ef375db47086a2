// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Input files of the tests of whole programs, the same bytes on every machine: each is a function of its numbers.

#include <cstddef>
#include <cstdint>
#include <iosfwd>

namespace sluice::test_input {

// Windows for `sluice run consensus`: 1 to 25 noisy copies of 10 to 199 random bases, every fifth in lower case; the third word of a header is what
// they were made from. The last window has 25 copies: a file that lacks up to 25 of the last lines ends within a window.
void write_windows(std::ostream& out, std::uint64_t seed, std::size_t count);

// Windows of one class, as Peverelli et al. 2020 measure them: so many noisy copies of so many random bases; headers as above.
struct WindowClass {
  std::uint64_t seed;
  std::size_t windows;
  std::uint64_t least_copies, most_copies;
  std::uint64_t least_bases, most_bases;
  std::uint64_t errors_per_million;
};
void write_window_class(std::ostream& out, const WindowClass& what);

// Windows of so many noisy copies of pieces of the same bases, a tenth of them at least, which begin anywhere; the first copy is whole. With `unit`
// the bases repeat so many of them, else they are random; headers as above.
struct RaggedWindows {
  std::uint64_t seed;
  std::size_t windows;
  std::uint64_t copies, bases;
  std::uint64_t errors_per_million;
  std::uint64_t unit;
};
void write_ragged_windows(std::ostream& out, const RaggedWindows& what);

// Windows of 24 to 43 noisy copies of 80 to 199 random bases, of which two in three have two haplotypes: the second has 2 to 5 other bases, or 3
// bases less in one place and an other one. The third word of a header is what they were made from, "FIRST/SECOND" or "FIRST".
void write_haplotypes(std::ostream& out, std::uint64_t seed, std::size_t count);

// A small mapping problem: three contigs (two with copies of one element, one a tandem repeat in random sequence) as FASTA...
void write_mapping_reference(std::ostream& out, std::uint64_t seed);
// ... and reads of them with errors as FASTQ, on both strands; chimeras, reads that stick out of a contig, reads of nothing, reads with N, lower case
// and U.
void write_mapping_reads(std::ostream& out, std::uint64_t seed, std::size_t reads, std::uint64_t errors_per_million);

// A genome of 300 kb (FASTA), and reads of it (FASTQ) in which something is rearranged: inversions of 0.3 to 5 kb, deletions, insertions, tandem
// duplications, chimeras, adapters, stretches of N, reads that turn round, short and plain ones in turn.
void write_rearranged_genome(std::ostream& out, std::uint64_t seed);
void write_rearranged_reads(std::ostream& out, std::uint64_t seed, std::size_t reads, std::uint64_t errors_per_million);

// A genome with genes on both strands (FASTA), with introns of 60 to 6,500 bases of all kinds of ends; reads of the transcripts (FASTA), along them
// and against them in turn, some without their beginning, with tails of A; the introns as BED, every fifth a little beside its place; and the
// transcripts (FASTA), along which ones run: every fourth gene of three exons and more has a second one without its second exon. Their headers say
// strand and exons, as `>gene7.2 genome:-:1200-1350,1700-1900` (0-based, end exclusive).
void write_spliced_genome(std::ostream& out, std::uint64_t seed, std::size_t genes);
void write_spliced_reads(std::ostream& out, std::uint64_t seed, std::size_t genes, std::size_t reads, std::uint64_t errors_per_million);
void write_spliced_junctions(std::ostream& out, std::uint64_t seed, std::size_t genes);
void write_spliced_transcripts(std::ostream& out, std::uint64_t seed, std::size_t genes);
// The same with introns as long as a mammal's: half of them below 2 kb, some above 100 kb, ten exons a gene.
void write_long_intron_genome(std::ostream& out, std::uint64_t seed, std::size_t genes);
void write_long_intron_reads(std::ostream& out, std::uint64_t seed, std::size_t genes, std::size_t reads, std::uint64_t errors_per_million);

// A genome of so many bases (FASTA) and more, with runs of A and of AC, a satellite of 500 copies and a tandem repeat of 100, and single reads of it
// (FASTA) that are hard to align: nearly all of it over a deletion of a tenth, 100 kb of N, of one base, of short and long repeats.
void write_hostile_genome(std::ostream& out, std::uint64_t seed, std::size_t bases);
void write_hostile_reads(std::ostream& out, std::uint64_t seed, std::size_t bases);

enum class NoisyReadForm { reads, truth };
// Noisy reads of a random genome (FASTQ), or what they were before the errors (FASTA, same names). Half of them are of the reverse strand; qualities
// are lower where an error is.
struct NoisyReads {
  std::uint64_t seed;
  std::size_t genome_bases;
  std::size_t reads;
  std::size_t mean_bases;
  std::uint64_t errors_per_million;
};
void write_noisy_reads(std::ostream& out, const NoisyReads& what, NoisyReadForm form);

// Signal that is none: 60 reads as SLOW5, in turn flat, saturated, of one sample, short, and jumping between both ends of the range.
void write_odd_signal(std::ostream& out, std::uint64_t seed);

// Each line of sequence with `errors` of its letters replaced by none to two random ones; the first line of a FASTA file becomes ">read", others with
// '>' vanish.
void write_one_long_read(std::istream& fasta, std::ostream& out, std::uint64_t seed, std::size_t errors);

// FASTQ as unaligned SAM whose reads carry what dorado writes: RG, qs, mv (a list with about a value per base), and, of four reads in five, MM, ML,
// MN: 5mC and 5hmC together and 6mA, with bases without a call, and reads without any.
void write_modified_reads(std::istream& fastq, std::ostream& out, std::uint64_t seed);
// FASTQ of direct RNA as unaligned SAM with calls of m6A at DRACH words of the reads, beside the tags that the comments have. Of each word another
// share of the molecules is modified: `write_m6a_shares` writes it (a line a word: word, share in percent). Every eighth call or so is unsure (0.4 to
// 0.6); what is not called is not modified (`A+a.`), or unknown in every fourth read (`A+a?`).
void write_m6a_reads(std::istream& fastq, std::ostream& out, std::uint64_t seed);
void write_m6a_shares(std::ostream& out, std::uint64_t seed);
// Records of SAM as they were before they were aligned: first ones only, in sequencing orientation, with their tags but those of the alignment.
void write_unaligned(std::istream& sam, std::ostream& out);

// Alignments as SAM with all that is legal: any flags, positions up to 2^31 - 1, names of 254 letters, CIGARs of 66,000 operations, U, '=' and IUPAC
// codes in either case, records without bases, qualities, contig or CIGAR, tags of all types.
void write_odd_alignments(std::ostream& out, std::uint64_t seed, std::size_t records);

// The lines of `in` in another order (Fisher and Yates).
void write_shuffled_lines(std::istream& in, std::ostream& out, std::uint64_t seed);

void write_noise(std::ostream& out, std::uint64_t seed, std::size_t bytes);

}  // namespace sluice::test_input
