import Dispatch
import FoundationEssentials
import Glibc
import OutletTransport
import Testing

@testable import OutletObservation

@Suite struct LogSinkTests {
    @Test func `each dropped line is counted once, whichever loggers write at the same time`()
        throws
    {
        // One datagram for each line. A line that is longer than the buffer cannot be written.
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0, &ends) == 0)
        let (reading, writing) = (ends[0], ends[1])
        let sink = LogSink.fileDescriptor(writing)
        let tooLong = String(repeating: "x", count: 1 << 20)
        let counted = Lock(0)
        let reader = DispatchQueue(label: "reader")
        reader.async {
            var line = [UInt8](repeating: 0, count: 4096)
            while true {
                let size = recv(reading, &line, line.count, 0)
                let text = String(decoding: line[..<max(0, size)], as: UTF8.self)
                if let number = text.split(separator: "dropped: ").last?.prefix(while: \.isNumber) {
                    counted.withLock { $0 += Int(number) ?? 0 }
                }
                if size <= 0 || text.hasSuffix("last\n") { return }
            }
        }
        DispatchQueue.concurrentPerform(iterations: 4) { logger in
            for number in 0..<500 { sink.write(number % 2 == 0 ? tooLong : "line of \(logger)\n") }
        }
        sink.write("last\n")
        reader.sync {}
        for end in ends { close(end) }
        #expect(counted.withLock { $0 } == 4 * 250)
    }
}
