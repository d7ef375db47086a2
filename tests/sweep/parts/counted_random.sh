# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# random SEED COUNTER: a number below 2^31 in $random, by splitmix64; a function of the two. (No subshell: sweeps ask thousands of times.)
random() {
  local z=$((($1 * 1000003 + $2 + 1) * 0x9E3779B97F4A7C15))
  z=$(((z ^ ((z >> 30) & 0x3FFFFFFFF)) * 0xBF58476D1CE4E5B9))
  z=$(((z ^ ((z >> 27) & 0x1FFFFFFFFF)) * 0x94D049BB133111EB))
  random=$(((z >> 33) & 0x7FFFFFFF))
}
draw() { # COUNT: a number below it, in $drawn; another one each time, of the sweep's $seed
  random "$seed" $((counter++))
  drawn=$((random % $1))
}
