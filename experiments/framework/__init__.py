# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""What the experiments share: programs and how they are measured, data that is made, pages and pictures."""
