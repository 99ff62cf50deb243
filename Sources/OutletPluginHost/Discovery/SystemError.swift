import Glibc

/// The system's error text for an `errno`, such as "No such file or directory".
func systemText(_ code: Int32) -> String {
    // Thread-safe: glibc returns a text per thread (since 2.32).
    guard let text = strerror(code) else { return "error \(code)" }
    return String(cString: text)
}
