import CCurl
import Glibc

/// A string list for a libcurl option, which libcurl only reads.
final class OptionList: @unchecked Sendable {
    // because nothing is written after `init`.

    private let nodes: UnsafeMutablePointer<curl_slist>
    private let count: Int

    /// Copies the lines.
    ///
    /// - Parameter lines: At least one line.
    init(_ lines: [String]) {
        count = lines.count
        nodes = .allocate(capacity: max(1, count))
        nodes.initialize(repeating: curl_slist(), count: max(1, count))
        for (index, line) in lines.enumerated() {
            nodes[index].data = strdup(line)
            nodes[index].next = index + 1 < count ? nodes + index + 1 : nil
        }
    }

    deinit {
        for index in 0..<count { free(nodes[index].data) }
        nodes.deallocate()
    }

    /// The head of the list, a `curl_slist`.
    var head: UnsafeRawPointer { UnsafeRawPointer(nodes) }
}
