#pragma once

namespace stress {

/// Checks single behaviours of the allocator, each on memory that is empty before and after. Raises std::runtime_error.
/// Returns how many there were.
int run_cases();

}  // namespace stress
