internal import FoundationEssentials

/// How many times as long as on a machine of usual speed a test waits for what must come.
///
/// `OUTLET_TEST_PATIENCE` says it where code is slower than it is: under a sanitizer (`.ci/sanitize`).
/// No test that succeeds waits longer for it.
public let patience: Int = {
    let wish = ProcessInfo.processInfo.environment["OUTLET_TEST_PATIENCE"].flatMap { Int($0) }
    return max(wish ?? 1, 1)
}()
