// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <sluice/stage.hpp>

#include "window_cutting/layer_cutting.hpp"
#include "window_cutting/window_cutting.hpp"
#include "window_cutting/window_sequences.hpp"

SLUICE_PLUGIN("window_cutting", "0.1.0", "MIT", sluice::window_cutting::LayerCutting, sluice::window_cutting::WindowCutting,
              sluice::window_cutting::WindowSequences);
