import CCurl
import Glibc

/// Lines for an option that takes a list, which libcurl only reads.
final class OptionList: @unchecked Sendable {
    // because nothing is written after `init`.

    private let nodes: UnsafeMutablePointer<curl_slist>
    private let count: Int

    /// - Parameter lines: At least one.
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

    /// The first line.
    var head: UnsafeRawPointer { UnsafeRawPointer(nodes) }
}
