import COutletPlugin
import OutletTestSupport
import Synchronization
import Testing

@testable import OutletPluginHost

/// Bytes that another thread of the plugin changes while the host reads them.
@Suite(.timeLimit(.minutes(patience))) struct ChangingBytesTests {
    /// Bytes of which a thread changes the first one again and again.
    private final class ChangingBytes: Sendable {
        private static let count = 1024
        private let address: UInt
        private let isOver = Atomic(false)

        init(_ byte: UInt8, or other: UInt8) throws {
            let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: Self.count)
            bytes.initialize(repeating: byte, count: Self.count)
            address = UInt(bitPattern: bytes)
            try onOwnThread { [self] in
                let first = UnsafeMutablePointer<Atomic<UInt8>>(bitPattern: address)
                while !isOver.load(ordering: .relaxed) {
                    first?.pointee.store(other, ordering: .relaxed)
                    first?.pointee.store(byte, ordering: .relaxed)
                }
                UnsafeMutablePointer<UInt8>(bitPattern: address)?.deallocate()
            }
        }

        var view: outlet_view {
            outlet_view(ptr: UnsafePointer(bitPattern: address), len: UInt64(Self.count))
        }

        /// Calls `body` until it has returned either value 200 times.
        func untilBoth(_ body: () -> Bool) {
            var counts = (0, 0)
            while min(counts.0, counts.1) < 200 {
                if body() { counts.0 += 1 } else { counts.1 += 1 }
            }
        }

        /// Ends the thread, which frees the bytes.
        func end() { isOver.store(true, ordering: .relaxed) }
    }

    @Test func `a text is valid UTF-8 although its bytes change`() throws {
        let bytes = try ChangingBytes(UInt8(ascii: "a"), or: 0xFF)
        defer { bytes.end() }
        var invalidCount = 0
        bytes.untilBoth {
            guard let text = bytes.view.text(.name) else { return false }
            if text.utf8.first != UInt8(ascii: "a") { invalidCount += 1 }
            return true
        }
        #expect(invalidCount == 0)
    }
}
