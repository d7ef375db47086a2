// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The vector kernels of minimizer_sketch.hpp, compiled once per instruction set by Highway. A plugin has one source file
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "minimizer_seeding/sketch.cpp"   // itself
//   #include <hwy/foreach_target.h>
//   #include <sluice/minimizer_sketch-inl.hpp>
// and after HWY_ONCE exports sluice::HWY_NAMESPACE::kernels through HWY_EXPORT.
//
// A k-mer is cut out of the packed bases: its forward form (first base highest) out of bytes whose bases are reversed, its reverse complement out of
// the complement of the bytes as they are. One load, one broadcast and one shift per lane make a vector of k-mers. The smallest hash of every w
// neighbours takes log2(w) passes of y[i] = min(y[i], y[i + p]); an element is reported if the largest of the minima of the windows that it is in is
// its own hash, which takes as many passes. With w = 10 and 16 lanes that is less than one instruction a base, and no branch depends on the data.

#if defined(SLUICE_MINIMIZER_SKETCH_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SLUICE_MINIMIZER_SKETCH_INL
#undef SLUICE_MINIMIZER_SKETCH_INL
#else
#define SLUICE_MINIMIZER_SKETCH_INL
#endif

#include <hwy/highway.h>

#include <cstring>
#include <sluice/minimizer_sketch.hpp>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace sluice::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

inline bool pack(const char* bases, std::size_t length, std::uint64_t* words) {
  bool clean = true;
  for (std::size_t word = 0; word * 32 < length; ++word) {
    std::uint64_t packed = 0;
    for (std::size_t i = 0; i < 32 && word * 32 + i < length; ++i) {
      const std::uint8_t code = nucleotide_code(bases[word * 32 + i]);
      clean = clean && code < 4;
      packed |= static_cast<std::uint64_t>(code & 3U) << 2 * i;
    }
    words[word] = packed;
  }
  return clean;
}
inline SketchKernels kernels() { return {pack, nullptr}; }

#else
namespace hn = hwy::HWY_NAMESPACE;

inline bool pack(const char* bases, std::size_t length, std::uint64_t* words) {
  const hn::ScalableTag<std::uint8_t> d8;
  const hn::ScalableTag<std::uint32_t> d32;
  const hn::Rebind<std::uint8_t, decltype(d32)> d_packed;
  const std::size_t lanes = hn::Lanes(d8);
  auto* packed = reinterpret_cast<std::uint8_t*>(words);
  const auto upper = hn::Set(d8, 0xDF);
  auto clean = hn::Set(d8, 0xFF);
  const auto four_to_a_byte = [&](const std::uint8_t* text, std::uint8_t* out) {
    const auto letters = hn::And(hn::LoadU(d8, text), upper);
    const auto is_base =
        hn::Or(hn::Or(hn::Eq(letters, hn::Set(d8, 'A')), hn::Eq(letters, hn::Set(d8, 'C'))),
               hn::Or(hn::Eq(letters, hn::Set(d8, 'G')), hn::Or(hn::Eq(letters, hn::Set(d8, 'T')), hn::Eq(letters, hn::Set(d8, 'U')))));
    const auto valid = hn::VecFromMask(d8, is_base);
    clean = hn::And(clean, valid);
    // A 0x41, C 0x43, G 0x47, T 0x54, U 0x55: c >> 1 ^ c >> 2 has the code in its lowest bits.
    const auto wide = hn::BitCast(d32, hn::And(letters, valid));
    const auto codes = hn::And(hn::Xor(hn::ShiftRight<1>(wide), hn::ShiftRight<2>(wide)), hn::Set(d32, 0x03030303U));
    const auto byte =
        hn::And(hn::Or(hn::Or(codes, hn::ShiftRight<6>(codes)), hn::Or(hn::ShiftRight<12>(codes), hn::ShiftRight<18>(codes))), hn::Set(d32, 0xFFU));
    hn::StoreU(hn::TruncateTo(d_packed, byte), d_packed, out);
  };
  std::size_t i = 0;
  for (; i + lanes <= length; i += lanes) four_to_a_byte(reinterpret_cast<const std::uint8_t*>(bases) + i, packed + i / 4);
  if (i < length) {
    alignas(64) std::uint8_t rest[HWY_MAX_BYTES];
    std::memset(rest, 'A', sizeof rest);
    std::memcpy(rest, bases + i, length - i);
    std::uint8_t last[HWY_MAX_BYTES / 4];
    four_to_a_byte(rest, last);
    std::memcpy(packed + i / 4, last, (length - i + 3) / 4);
  }
  std::memset(packed + (length + 3) / 4, 0, (8 - (length + 3) / 4 % 8) % 8);
  return hn::AllTrue(d8, hn::Eq(clean, hn::Set(d8, 0xFF)));
}

// minimizer_hash() of a vector. k <= 16 fits 32-bit lanes: sums are cut to 2 k bits anyway.
template <class D, class V>
HWY_INLINE V HashOf(D, V v, V mask) {
  v = hn::And(hn::Add(hn::Xor(v, hn::Set(D(), static_cast<hn::TFromD<D> >(~hn::TFromD<D>{0}))), hn::ShiftLeft<21>(v)), mask);
  v = hn::Xor(v, hn::ShiftRight<24>(v));
  v = hn::And(hn::Add(v, hn::Add(hn::ShiftLeft<3>(v), hn::ShiftLeft<8>(v))), mask);
  v = hn::Xor(v, hn::ShiftRight<14>(v));
  v = hn::And(hn::Add(v, hn::Add(hn::ShiftLeft<2>(v), hn::ShiftLeft<4>(v))), mask);
  v = hn::Xor(v, hn::ShiftRight<28>(v));
  return hn::And(hn::Add(v, hn::ShiftLeft<31>(v)), mask);
}

// The chosen lanes one after the other. Highway has 64-bit lanes by a table, which g++ 12 copies to the stack for each vector.
template <class V, class M>
HWY_INLINE V chosen_lanes(V v, M chosen) {
#if HWY_TARGET == HWY_AVX3
  if constexpr (std::is_same_v<V, hn::Vec512<std::uint64_t> >)
    return V{_mm512_maskz_compress_epi64(chosen.raw, v.raw)};
  else
#endif
    return hn::Compress(v, chosen);
}

// Puts the chosen lanes to `to`, where there is room for a whole vector; returns how many. The instruction of AVX-512 that compresses into memory is
// ten times slower on some processors.
template <class D, class V, class M>
HWY_INLINE std::size_t put_chosen(D d, V v, M chosen, hn::TFromD<D>* to) {
  hn::StoreU(chosen_lanes(v, chosen), d, to);
  return hn::CountTrue(d, chosen);
}

template <class T>
class RunSketcher {
  using Tag = hn::ScalableTag<T>;
  using Wide = hn::ScalableTag<std::uint64_t>;
  using PlaceTag = hn::CappedTag<std::uint32_t, HWY_LANES(T)>;

 public:
  RunSketcher(const SketchRun& run, SketchScratch& scratch)
      : run_(run),
        scratch_(scratch),
        hash_(reinterpret_cast<T*>(scratch.hash.data())),
        smallest_(reinterpret_cast<T*>(scratch.smallest.data())),
        place_(scratch.place.data()) {}

  void sketch(std::vector<Minimizer>& out) {
    const std::size_t w = run_.w;
    std::size_t count = 0;  // elements in the arrays
    std::int64_t next = run_.first;
    bool opening = run_.at_begin == SketchRun::Begin::at_run_begin;
    std::size_t decided = opening ? 0 : w - 1;  // elements at the front that only give the others their neighbours
    while (true) {
      // The k-mers of all blocks but the first begin at a byte of the packed bases.
      const std::int64_t stop = std::min(run_.end, ((next + 1 - run_.k + static_cast<std::int64_t>(sketch_block)) & ~std::int64_t{3}) + run_.k - 1);
      count = make_elements(next, stop, count);
      next = stop;
      const bool ended = next == run_.end;
      if (!ended && count < 3 * w) continue;  // palindromes only
      if (count < w) return;
      const bool closing = ended && run_.at_end == SketchRun::End::at_run_end;
      find_smallest(count);
      if (opening) open_run();
      if (closing) close_run(count);
      // One more than the neighbours that are missing: the last window may turn out to be the run's.
      const std::size_t end = closing ? count : ended ? count - (w - 1) : count - w;
      if (decided < end) choose(decided, end, out);
      if (ended) return;
      const std::size_t keep = end - (w - 1);
      count -= keep;
      std::memmove(hash_, hash_ + keep, count * sizeof(T));
      std::memmove(place_, place_ + keep, count * sizeof(std::uint32_t));
      decided = w - 1;
      opening = false;
    }
  }

 private:
  // Elements of the k-mers that end at the bases [from, to), appended from place `count` of the arrays on. Returns the new count.
  std::size_t make_elements(std::int64_t from, std::int64_t to, std::size_t count) {
    const std::uint32_t k = run_.k;
    const std::int64_t start = from + 1 - k;
    const std::int64_t aligned = start & ~std::int64_t{3};
    const auto before = static_cast<std::size_t>(start - aligned);  // k-mers that do not belong here
    const std::size_t kmers = static_cast<std::size_t>(to - from) + before;
    const auto* packed = reinterpret_cast<const std::uint8_t*>(run_.words) + aligned / 4;
    reverse_bytes(packed, (kmers + k) / 32 + 3);
    const auto* reversed = reinterpret_cast<const std::uint8_t*>(scratch_.reversed.data());

    const Tag d;
    const PlaceTag d_place;
    const std::size_t lanes = hn::Lanes(d);
    const T mask_bits = static_cast<T>((std::uint64_t{1} << 2 * k) - 1);
    const auto mask = hn::Set(d, mask_bits);
    const auto one = hn::Set(d, T{1});
    auto place = hn::ShiftLeft<1>(hn::Add(hn::Iota(d_place, 0), hn::Set(d_place, static_cast<std::uint32_t>(aligned + k - 1))));
    const auto place_step = hn::Set(d_place, static_cast<std::uint32_t>(2 * lanes));
    const auto make = [&](std::size_t i, auto& hash, auto& strand, auto& palindrome) {
      const auto forward = hn::And(forward_kmers(reversed, i), mask);
      const auto reverse = hn::And(reverse_kmers(packed, i), mask);
      const auto is_reverse = hn::Not(less(forward, reverse));
      palindrome = hn::Eq(forward, reverse);
      strand = hn::IfThenElseZero(is_reverse, one);
      hash = HashOf(d, hn::IfThenElse(is_reverse, reverse, forward), mask);
    };
    auto hash = hn::Zero(d), strand = hn::Zero(d);
    auto palindrome = hn::Eq(hash, one);
    if (k % 2 != 0) {
      for (std::size_t i = 0; i < kmers; i += lanes) {
        make(i, hash, strand, palindrome);
        hn::StoreU(hash, d, hash_ + count + i);
        hn::StoreU(hn::Or(place, narrow(strand)), d_place, place_ + count + i);
        place = hn::Add(place, place_step);
      }
      if (before > 0) {
        std::memmove(hash_ + count, hash_ + count + before, (kmers - before) * sizeof(T));
        std::memmove(place_ + count, place_ + count + before, (kmers - before) * sizeof(std::uint32_t));
      }
      return count + kmers - before;
    }
    const auto numbers = hn::Iota(d, T{0});
    for (std::size_t i = 0; i < kmers; i += lanes) {
      make(i, hash, strand, palindrome);
      auto wanted = hn::Not(palindrome);
      if (i < before) wanted = hn::And(wanted, hn::Not(less(numbers, hn::Set(d, static_cast<T>(before - i)))));
      if (i + lanes > kmers) wanted = hn::And(wanted, less(numbers, hn::Set(d, static_cast<T>(kmers - i))));
      put_chosen(d, hash, wanted, hash_ + count);
      count += compress_places(hn::Or(place, narrow(strand)), wanted, count);
      place = hn::Add(place, place_step);
    }
    return count;
  }

  // The bases of each byte in the opposite order.
  void reverse_bytes(const std::uint8_t* packed, std::size_t words) {
    const Wide d;
    const auto low = hn::Set(d, 0x0303030303030303ULL), middle = hn::Set(d, 0x0C0C0C0C0C0C0C0CULL);
    std::size_t i = 0;
    for (; i < words; ++i) {
      std::uint64_t word;
      std::memcpy(&word, packed + 8 * i, 8);
      scratch_.reversed[i] = word;
    }
    for (i = 0; i < words; i += hn::Lanes(d)) {
      const auto v = hn::Load(d, scratch_.reversed.data() + i);
      const auto left = hn::Or(hn::ShiftLeft<6>(hn::And(v, low)), hn::ShiftLeft<2>(hn::And(v, middle)));
      const auto right = hn::Or(hn::And(hn::ShiftRight<2>(v), middle), hn::And(hn::ShiftRight<6>(v), low));
      hn::Store(hn::Or(left, right), d, scratch_.reversed.data() + i);
    }
  }

  // K-mers that begin at base i of the arrays and at its successors, one a lane; bits above the k-mer are not cleared.
  HWY_INLINE hn::Vec<Wide> wide_forward(const std::uint8_t* reversed, std::size_t i) const {
    const Wide d;
    std::uint64_t word;
    std::memcpy(&word, reversed + i / 4, 8);
    const auto shifts = hn::Sub(hn::Set(d, 64 - 2 * run_.k - 2 * (i % 4)), hn::ShiftLeft<1>(hn::Iota(d, 0)));
    return hn::Shr(hn::Set(d, __builtin_bswap64(word)), shifts);
  }
  HWY_INLINE hn::Vec<Wide> wide_reverse(const std::uint8_t* packed, std::size_t i) const {
    const Wide d;
    std::uint64_t word;
    std::memcpy(&word, packed + i / 4, 8);
    return hn::Shr(hn::Set(d, ~word), hn::Add(hn::Set(d, std::uint64_t{2} * (i % 4)), hn::ShiftLeft<1>(hn::Iota(d, 0))));
  }
  HWY_INLINE hn::Vec<Tag> forward_kmers(const std::uint8_t* reversed, std::size_t i) const {
    if constexpr (sizeof(T) == 8)
      return wide_forward(reversed, i);
    else
      return join(wide_forward(reversed, i), wide_forward(reversed, i + hn::Lanes(Wide())));
  }
  HWY_INLINE hn::Vec<Tag> reverse_kmers(const std::uint8_t* packed, std::size_t i) const {
    if constexpr (sizeof(T) == 8)
      return wide_reverse(packed, i);
    else
      return join(wide_reverse(packed, i), wide_reverse(packed, i + hn::Lanes(Wide())));
  }
  static HWY_INLINE hn::Vec<Tag> join(hn::Vec<Wide> low, hn::Vec<Wide> high) {
    const hn::Half<Tag> half;
    return hn::Combine(Tag(), hn::TruncateTo(half, high), hn::TruncateTo(half, low));
  }
  // Hashes of up to 50 bits compare as signed numbers too, which AVX2 can.
  template <class V>
  static HWY_INLINE auto less(V a, V b) {
    if constexpr (sizeof(T) == 8) {
      const hn::RebindToSigned<Tag> ds;
      return hn::RebindMask(Tag(), hn::Lt(hn::BitCast(ds, a), hn::BitCast(ds, b)));
    } else {
      return hn::Lt(a, b);
    }
  }
  static HWY_INLINE hn::Vec<PlaceTag> narrow(hn::Vec<Tag> strand) {
    if constexpr (sizeof(T) == 8)
      return hn::TruncateTo(PlaceTag(), strand);
    else
      return strand;
  }
  template <class V, class M>
  HWY_INLINE std::size_t compress_places(V places, M wanted, std::size_t count) {
    if constexpr (sizeof(T) == 4) {
      return put_chosen(PlaceTag(), places, wanted, place_ + count);
    } else {
      // Through 64-bit lanes: their mask is at hand.
      const std::size_t found = put_chosen(Tag(), hn::PromoteTo(Tag(), places), wanted, reinterpret_cast<T*>(scratch_.chosen_hash.data()));
      for (std::size_t i = 0; i < found; ++i) place_[count + i] = static_cast<std::uint32_t>(scratch_.chosen_hash[i]);
      return found;
    }
  }

  static HWY_INLINE hn::Vec<Tag> lower(hn::Vec<Tag> a, hn::Vec<Tag> b) {
    if constexpr (sizeof(T) == 8)
      return hn::IfThenElse(less(a, b), a, b);
    else
      return hn::Min(a, b);
  }
  static HWY_INLINE hn::Vec<Tag> higher(hn::Vec<Tag> a, hn::Vec<Tag> b) {
    if constexpr (sizeof(T) == 8)
      return hn::IfThenElse(less(a, b), b, a);
    else
      return hn::Max(a, b);
  }

  // smallest_[i]: the largest of the minima of the windows of w elements that element i is in; 0 if it is in none.
  void find_smallest(std::size_t count) {
    const Tag d;
    const std::size_t lanes = hn::Lanes(d);
    const std::size_t w = run_.w;
    T* minima = smallest_ + (w - 1);  // of the window that begins at an element
    std::memset(smallest_, 0, (w - 1) * sizeof(T));
    const T* from = hash_;
    for (std::size_t reach = 1; reach < w;) {
      const std::size_t shift = std::min(reach, w - reach);
      for (std::size_t i = 0; i < count; i += lanes) hn::StoreU(lower(hn::LoadU(d, from + i), hn::LoadU(d, from + i + shift)), d, minima + i);
      from = minima;
      reach += shift;
    }
    if (w == 1) std::memcpy(minima, hash_, count * sizeof(T));
    std::memset(minima + (count - w + 1), 0, (2 * w + 2 * lanes) * sizeof(T));
    for (std::size_t reach = 1; reach < w;) {
      const std::size_t shift = std::min(reach, w - reach);
      for (std::size_t i = 0; i < count; i += lanes)
        hn::StoreU(higher(hn::LoadU(d, smallest_ + i), hn::LoadU(d, smallest_ + i + shift)), d, smallest_ + i);
      reach += shift;
    }
  }

  // The first window of a run: of its first w - 1 elements, all equal to their minimum are reported but the rightmost, which is if the w-th is
  // greater.
  void open_run() {
    const std::size_t w = run_.w;
    if (w == 1) return;
    std::size_t minimum = 0;
    for (std::size_t i = 1; i < w - 1; ++i)
      if (hash_[i] <= hash_[minimum]) minimum = i;
    const T least = hash_[minimum];
    if (hash_[w - 1] > least) return;
    for (std::size_t i = 0; i < minimum; ++i)
      if (hash_[i] == least) smallest_[i] = least;
    smallest_[minimum] = static_cast<T>(~least);
  }

  // The minimum of a run's last window is tracked, but not reported before an ambiguous base.
  void close_run(std::size_t count) {
    std::size_t minimum = count - run_.w;
    for (std::size_t i = minimum + 1; i < count; ++i)
      if (hash_[i] <= hash_[minimum]) minimum = i;
    smallest_[minimum] = static_cast<T>(~hash_[minimum]);
  }

  // Appends the elements of [begin, end) that are the smallest of a window.
  void choose(std::size_t begin, std::size_t end, std::vector<Minimizer>& out) {
    const Tag d;
    const PlaceTag d_place;
    const std::size_t lanes = hn::Lanes(d);
    auto* chosen = reinterpret_cast<T*>(scratch_.chosen_hash.data());
    auto* chosen_place = reinterpret_cast<T*>(scratch_.chosen_place.data());
    std::size_t found = 0;
    for (std::size_t i = begin; i < end; i += lanes) {
      const auto hash = hn::LoadU(d, hash_ + i);
      auto is_smallest = hn::Eq(hash, hn::LoadU(d, smallest_ + i));
      if (i + lanes > end) is_smallest = hn::And(is_smallest, hn::FirstN(d, end - i));
      const auto places = hn::LoadU(d_place, place_ + i);
      if constexpr (sizeof(T) == 4)
        put_chosen(d_place, places, is_smallest, chosen_place + found);
      else
        put_chosen(d, hn::PromoteTo(d, places), is_smallest, chosen_place + found);
      found += put_chosen(d, hash, is_smallest, chosen + found);
    }
    const std::size_t at = out.size();
    out.resize(at + found);
    for (std::size_t i = 0; i < found; ++i)
      out[at + i] = {static_cast<std::uint64_t>(chosen[i]) << 8 | run_.k, static_cast<std::uint32_t>(chosen_place[i])};
  }

  const SketchRun& run_;
  SketchScratch& scratch_;
  T* hash_;
  T* smallest_;
  std::uint32_t* place_;
};

inline void sketch_run_vectors(const SketchRun& run, SketchScratch& scratch, std::vector<Minimizer>& out) {
  if (run.k <= 16)
    RunSketcher<std::uint32_t>(run, scratch).sketch(out);
  else
    RunSketcher<std::uint64_t>(run, scratch).sketch(out);
}
inline SketchKernels kernels() { return {pack, sketch_run_vectors}; }

#endif  // HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
}  // namespace sluice::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle guard
