// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Options of minimap2, and the same ones of `sluice run map`.

#include <array>
#include <string_view>

namespace sluice::sweep {

struct SameOption {
  std::string_view minimap2, sluice;
};

// Those of 2.24 first; 2.31 has all.
inline constexpr std::size_t mapping_presets_of_2_24 = 7;
inline constexpr std::array<SameOption, 10> mapping_presets = {{
    {"-x map-ont", "--preset map-ont"},
    {"-x map-pb", "--preset map-pb"},
    {"-k19 -w19 -U50,500 -g10k", "--preset lr-hq"},  // lr:hq of later versions
    {"-x map-hifi", "--preset map-hifi"},
    {"-x asm5", "--preset asm5"},
    {"-x asm10", "--preset asm10"},
    {"-x asm20", "--preset asm20"},
    {"-x lr:hqae", "--preset lr-hqae"},
    {"-x map-iclr", "--preset map-iclr"},
    {"-x map-iclr-prerender", "--preset map-iclr-prerender"},
}};

// What is written. Half of the cases are SAM.
inline constexpr std::array<SameOption, 6> output_forms = {{
    {"-a", "--format sam"},
    {"-a", "--format sam"},
    {"-a", "--format sam"},
    {"-c", "--format paf --cigar"},
    {"-c --paf-no-hit", "--format paf --cigar --paf-no-hit"},
    {"", "--format paf"},
}};

// How long predecessors of chains are looked for. Ours is minimap2's heuristic here, too, unless it is exact there.
inline constexpr SameOption exact_search = {"--max-chain-skip=1000000", "--max-chain-skip 1000000"};
inline constexpr std::array<SameOption, 4> short_searches = {{
    {"--max-chain-skip=0", "--max-chain-skip 0"},
    {"--max-chain-skip=3", "--max-chain-skip 3"},
    {"--max-chain-iter=1", "--max-chain-iter 1"},
    {"--max-chain-iter=30", "--max-chain-iter 30"},
}};

// A case takes none to three of them, of different groups. minimap2 takes -r, -O and -z of a preset as a whole, so that both numbers are given.
struct OptionGroup {
  int number;
  SameOption option;
};
// Those of 2.24 first; 2.31 has all.
inline constexpr std::size_t mapping_options_of_2_24 = 103;
inline constexpr std::array<OptionGroup, 110> mapping_options = {{
    {0, {"--cs", "--cs"}},
    {0, {"--MD", "--md"}},
    {0, {"--cs=long", "--cs-long"}},
    {1, {"--eqx", "--eqx"}},
    {2, {"-Y", "--soft-clip"}},
    {2, {"--sam-hit-only", "--sam-hit-only"}},
    {2, {"-L", "--long-cigar-tag"}},
    {2, {"-y", "--copy-comments"}},
    {3, {"-P", "--all-chain"}},
    {3, {"--secondary=no", "--no-secondary"}},
    {3, {"-N 50 -p 0.5", "--best-count 50 --secondary-ratio 0.5"}},
    {3, {"-N 1 -p 0", "--best-count 1 --secondary-ratio 0"}},
    {3, {"-N 0", "--best-count 0"}},
    {3, {"-N 1000000 -p 0", "--best-count 1000000 --secondary-ratio 0"}},
    {3, {"-p 1", "--secondary-ratio 1"}},
    {4, {"-z 80,40", "--z-drop 80 --z-drop-inv 40"}},
    {4, {"-z 2000,1000", "--z-drop 2000 --z-drop-inv 1000"}},
    {4, {"-z 100,100", "--z-drop 100 --z-drop-inv 100"}},
    {4, {"-z 30,0", "--z-drop 30 --z-drop-inv 0"}},
    {4, {"-z 0", "--z-drop 0 --z-drop-inv 0"}},
    {4, {"-z 10000000", "--z-drop 10000000 --z-drop-inv 10000000"}},
    {5, {"--end-bonus 20", "--end-bonus 20"}},
    {5, {"--end-bonus 500", "--end-bonus 500"}},
    {5, {"--end-bonus 0", "--end-bonus 0"}},
    {6, {"-s 20", "--min-dp-max 20"}},
    {6, {"-s 400", "--min-dp-max 400"}},
    {6, {"-s 0", "--min-dp-max 0"}},
    {6, {"-s 100000", "--min-dp-max 100000"}},
    {7, {"-r 10,10", "--bw 10 --bw-long 10"}},
    {7, {"-r 30,60", "--bw 30 --bw-long 60"}},
    {7, {"-r 500,500", "--bw 500 --bw-long 500"}},
    {7, {"-r 100,50000", "--bw 100 --bw-long 50000"}},
    {7, {"-r 5000,20000", "--bw 5000 --bw-long 20000"}},
    {7, {"-r 1,1", "--bw 1 --bw-long 1"}},
    {7, {"-r 500,500 --no-long-join", "--bw 500 --bw-long 500"}},
    {7, {"-r 1,200000", "--bw 1 --bw-long 200000"}},
    {8, {"-B 4 -O 4,4 -E 2,2", "--mismatch 4 --gap-open 4 --gap-extend 2 --long-gap-open 4 --long-gap-extend 2"}},
    {8, {"-A 1 -B 9 -O 16,41 -E 2,1", "--match 1 --mismatch 9 --gap-open 16 --gap-extend 2 --long-gap-open 41 --long-gap-extend 1"}},
    {8, {"-A 5 -B 3 -O 2,12 -E 3,1", "--match 5 --mismatch 3 --gap-open 2 --gap-extend 3 --long-gap-open 12 --long-gap-extend 1"}},
    {8, {"-A 2 -B 12 -O 4,24 -E 2,1", "--match 2 --mismatch 12 --gap-open 4 --gap-extend 2 --long-gap-open 24 --long-gap-extend 1"}},
    {8, {"-A 4 -B 0 -O 30,60 -E 5,1", "--match 4 --mismatch 0 --gap-open 30 --gap-extend 5 --long-gap-open 60 --long-gap-extend 1"}},
    {8,
     {"-A 1 -B 1 -O 1,3 -E 2,1 --score-N 0", "--match 1 --mismatch 1 --gap-open 1 --gap-extend 2 --long-gap-open 3 --long-gap-extend 1 --score-n 0"}},
    {8, {"-A 20 -B 60 -O 20,100 -E 4,1", "--match 20 --mismatch 60 --gap-open 20 --gap-extend 4 --long-gap-open 100 --long-gap-extend 1"}},
    {8, {"-A 3 -B 5 -O 60 -E 3", "--match 3 --mismatch 5 --gap-open 60 --gap-extend 3 --long-gap-open 60 --long-gap-extend 3"}},
    {9, {"--score-N 0", "--score-n 0"}},
    {9, {"--score-N 3", "--score-n 3"}},
    {10, {"--cap-sw-mem 200000", "--cap-sw-mem 200000"}},
    {10, {"--cap-sw-mem 1", "--cap-sw-mem 1"}},
    {10, {"--cap-sw-mem 0", "--cap-sw-mem 0"}},
    {11, {"--min-dp-len 50", "--min-dp-len 50"}},
    {11, {"--min-dp-len 1000", "--min-dp-len 1000"}},
    {11, {"--min-dp-len 0", "--min-dp-len 0"}},
    {11, {"--min-dp-len 1", "--min-dp-len 1"}},
    {12, {"--max-clip-ratio 0.3", "--max-clip-ratio 0.3"}},
    {12, {"--max-clip-ratio 0", "--max-clip-ratio 0"}},
    {13, {"--no-end-flt", "--no-end-flt"}},
    {14, {"--for-only", "--for-only"}},
    {14, {"--rev-only", "--rev-only"}},
    {15, {"-k 11 -w 5", "--k 11 --w 5"}},
    {15, {"-k 28 -w 20", "--k 28 --w 20"}},
    {15, {"-k 14 -w 1", "--k 14 --w 1"}},
    {15, {"-k 9 -w 30", "--k 9 --w 30"}},
    {15, {"-k 28 -w 255", "--k 28 --w 255"}},
    {15, {"-k 8 -w 12", "--k 8 --w 12"}},
    {16, {"-H", "--hpc"}},
    {17, {"-f 0.02 -U 2,20", "--f 0.02 --min-occ 2 --max-occ 20"}},
    {17, {"-f 5", "--f 5"}},
    {17, {"-e 50", "--occ-dist 50"}},
    {17, {"-e 0", "--occ-dist 0"}},
    {17, {"-f 0", "--f 0"}},
    {17, {"-f 1", "--f 1"}},
    {17, {"-f 0.999", "--f 0.999"}},
    {17, {"-U 30,20", "--min-occ 30 --max-occ 20"}},
    {17, {"-U 0,1", "--min-occ 0 --max-occ 1"}},
    {17, {"-e 1", "--occ-dist 1"}},
    {17, {"-e 100000", "--occ-dist 100000"}},
    {18, {"-g 500", "--max-gap 500"}},
    {18, {"-g 1", "--max-gap 1"}},
    {18, {"-g 100k", "--max-gap 100000"}},
    {19, {"-n 1 -m 15", "--min-cnt 1 --min-chain-score 15"}},
    {19, {"-n 8 -m 200", "--min-cnt 8 --min-chain-score 200"}},
    {19, {"-n 1 -m 1", "--min-cnt 1 --min-chain-score 1"}},
    {19, {"-n 40", "--min-cnt 40"}},
    {20, {"-M 0.1 --hard-mask-level", "--mask-level 0.1 --hard-mask-level"}},
    {20, {"--mask-len 300", "--mask-len 300"}},
    {20, {"-M 0", "--mask-level 0"}},
    {20, {"-M 1", "--mask-level 1"}},
    {20, {"-M 0 --hard-mask-level", "--mask-level 0 --hard-mask-level"}},
    {20, {"--mask-len 0", "--mask-len 0"}},
    {21, {"--rmq=yes", "--rmq yes"}},
    {21, {"--rmq=no", "--rmq no"}},
    {22, {"--chain-gap-scale 0.3 --chain-skip-scale 0.4", "--chain-gap-scale 0.3 --chain-skip-scale 0.4"}},
    {22, {"--chain-gap-scale 0", "--chain-gap-scale 0"}},
    {22, {"--chain-gap-scale 10", "--chain-gap-scale 10"}},
    {22, {"--chain-skip-scale 3", "--chain-skip-scale 3"}},
    {23, {"--q-occ-frac 0.001", "--q-occ-frac 0.001"}},
    {23, {"--q-occ-frac 0", "--q-occ-frac 0"}},
    {23, {"--q-occ-frac 1", "--q-occ-frac 1"}},
    {24, {"--seed 1", "--seed 1"}},
    {24, {"--seed 2147483647", "--seed 2147483647"}},
    {24, {"--no-hash-name", "--no-hash-name"}},
    {25, {"--dual=no", "--no-dual"}},
    {25, {"-D", "--no-diagonal"}},
    {0, {"--ds", "--ds"}},
    {2, {"--secondary-seq", "--secondary-seq"}},
    {8, {"-b 1", "--transition 1"}},
    {8, {"-b 3 -B 6 --score-N 2", "--transition 3 --mismatch 6 --score-n 2"}},
    {21, {"--rmq=yes --rmq-inner 0", "--rmq yes --rmq-inner 0"}},
    {21, {"--rmq=yes --rmq-inner 50", "--rmq yes --rmq-inner 50"}},
    {21, {"--rmq=yes --rmq-inner 200k", "--rmq yes --rmq-inner 200000"}},
}};

inline constexpr std::array<SameOption, 3> overlap_presets = {{
    {"-x ava-ont", "--preset ava-ont"},
    {"-x ava-pb", "--preset ava-pb"},
    {"-x ava-ont --dual=yes", "--preset ava-ont --dual"},
}};
inline constexpr std::array<OptionGroup, 33> overlap_options = {{
    {0, {"-k 11 -w 5", "--k 11 --w 5"}},
    {0, {"-k 28 -w 20", "--k 28 --w 20"}},
    {0, {"-k 9 -w 30", "--k 9 --w 30"}},
    {1, {"-H", "--hpc"}},
    {2, {"-f 0.02 -U 2,20", "--f 0.02 --min-occ 2 --max-occ 20"}},
    {2, {"-f 5", "--f 5"}},
    {2, {"-f 0", "--f 0"}},
    {2, {"-U 30,20", "--min-occ 30 --max-occ 20"}},
    {2, {"-e 50", "--occ-dist 50"}},
    {2, {"-e 1", "--occ-dist 1"}},
    {3, {"--q-occ-frac 0", "--q-occ-frac 0"}},
    {3, {"--q-occ-frac 0.001", "--q-occ-frac 0.001"}},
    {4, {"-g 500", "--max-gap 500"}},
    {4, {"-g 1", "--max-gap 1"}},
    {4, {"-g 100k", "--max-gap 100000"}},
    {5, {"-r 30,30", "--bw 30 --bw-long 30"}},
    {5, {"-r 1,1", "--bw 1 --bw-long 1"}},
    {5, {"-r 20000,20000", "--bw 20000 --bw-long 20000"}},
    {6, {"-n 1 -m 15", "--min-cnt 1 --min-chain-score 15"}},
    {6, {"-n 8 -m 400", "--min-cnt 8 --min-chain-score 400"}},
    {7, {"--for-only", "--for-only"}},
    {7, {"--rev-only", "--rev-only"}},
    {8, {"--rmq=yes", "--rmq yes"}},
    {9, {"--chain-gap-scale 0", "--chain-gap-scale 0"}},
    {9, {"--chain-gap-scale 10", "--chain-gap-scale 10"}},
    {9, {"--chain-skip-scale 0.4", "--chain-skip-scale 0.4"}},
    {10, {"--seed 1", "--seed 1"}},
    {10, {"--no-hash-name", "--no-hash-name"}},
    {11, {"--paf-no-hit", "--paf-no-hit"}},
    {12, {"--max-chain-skip=25", "--max-chain-skip 25"}},
    {12, {"--max-chain-skip=0", "--max-chain-skip 0"}},
    {13, {"--max-chain-iter=1", "--max-chain-iter 1"}},
    {13, {"--max-chain-iter=30", "--max-chain-iter 30"}},
}};

inline constexpr std::array<SameOption, 6> splice_presets = {{
    {"-x splice", "--preset splice"},
    {"-x splice:hq", "--preset splice-hq"},
    {"-x splice -uf -k14", "--preset splice --transcript-strand forward --k 14"},
    {"-x splice -ur", "--preset splice --transcript-strand reverse"},
    {"-x splice -un", "--preset splice --transcript-strand none"},
    {"-x splice -J0", "--preset splice --splice-model 0"},
}};
inline constexpr std::array<SameOption, 4> known_junctions = {{
    {"--junc-bed junctions.bed", "--junc-bed junctions.bed"},
    {"--junc-bed junctions.bed --junc-bonus 4", "--junc-bed junctions.bed --junc-bonus 4"},
    {"-j junctions.bed", "--jump-bed junctions.bed"},
    {"--pass1 junctions.bed --jump-min-match 5", "--pass1 junctions.bed --jump-min-match 5"},
}};
// minimap2 aborts with --eqx where ends jump over junctions.
inline constexpr std::array<OptionGroup, 29> splice_options = {{
    {0, {"--cs", "--cs"}},
    {0, {"--MD", "--md"}},
    {0, {"--cs=long", "--cs-long"}},
    {0, {"--ds", "--ds"}},
    {1, {"-Y", "--soft-clip"}},
    {1, {"--secondary-seq", "--secondary-seq"}},
    {2, {"-P", "--all-chain"}},
    {2, {"--secondary=no", "--no-secondary"}},
    {2, {"-N 50 -p 0.3", "--best-count 50 --secondary-ratio 0.3"}},
    {3, {"-z 40", "--z-drop 40 --z-drop-inv 40"}},
    {3, {"-z 1000", "--z-drop 1000 --z-drop-inv 1000"}},
    {4, {"--end-bonus 15", "--end-bonus 15"}},
    {5, {"-s 30", "--min-dp-max 30"}},
    {5, {"-s 200", "--min-dp-max 200"}},
    {6, {"-G 3k", "--max-intron-len 3000"}},
    {6, {"-G 30k", "--max-intron-len 30000"}},
    {6, {"-G 500k", "--max-intron-len 500000"}},
    {7, {"-C 5", "--noncan 5"}},
    {7, {"--splice-flank=no", "--no-splice-flank"}},
    {8, {"--no-end-flt", "--no-end-flt"}},
    {8, {"--end-seed-pen 12", "--end-seed-pen 12"}},
    {9, {"--min-dp-len 30", "--min-dp-len 30"}},
    {10, {"-n 1 -m 20", "--min-cnt 1 --min-chain-score 20"}},
    {11, {"-w 10", "--w 10"}},
    {12, {"--score-N 0", "--score-n 0"}},
    {13, {"-f 0.02", "--f 0.02"}},
    {14, {"-g 5k", "--max-gap 5000"}},
    {15, {"-b 1", "--transition 1"}},
    {15, {"-b 3 --score-N 2", "--transition 3 --score-n 2"}},
}};

}  // namespace sluice::sweep
