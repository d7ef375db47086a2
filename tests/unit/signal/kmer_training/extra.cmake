# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
# Reads to train on come from the simulator.
target_link_libraries(unit_kmer_training PRIVATE simulate_signal_kernels event_detection_kernels)
# The tests run the stages as the program would.
add_dependencies(unit_kmer_training kmer_training)
