internal import FoundationEssentials

/// The factor by which deadlines of tests are extended; at least 1.
///
/// The environment variable `OUTLET_TEST_PATIENCE` sets it where code runs more slowly, such as
/// under a sanitizer (`.ci/sanitize`). It does not slow down tests that succeed.
public let patience: Int = {
    let wish = ProcessInfo.processInfo.environment["OUTLET_TEST_PATIENCE"].flatMap { Int($0) }
    return max(wish ?? 1, 1)
}()
