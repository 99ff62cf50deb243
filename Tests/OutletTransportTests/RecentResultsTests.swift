import FoundationEssentials
import OutletTestSupport
import Testing

@testable import OutletHTTP
@testable import OutletTransport

@Suite struct `The recent results of a transport` {
    /// A result whose body records its number when it is released.
    private func result(_ number: Int, size: Int, _ released: Recorder<Int>) -> TransferResult {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 1)
        memory.initializeMemory(as: UInt8.self, repeating: 0, count: size)
        let body = Data(
            bytesNoCopy: memory, count: size,
            deallocator: .custom { memory, _ in
                memory.deallocate()
                released.record(number)
            })
        return TransferResult(response: HTTPResponse(url: nil, statusCode: 200), body: body)
    }

    @Test func `the oldest of 256 results is released when another one is added`() {
        let released = Recorder<Int>()
        var results = RecentResults()
        for number in 0..<256 { results.add(result(number, size: 100, released)) }
        #expect(released.values.isEmpty)
        for number in 256..<259 { results.add(result(number, size: 100, released)) }
        #expect(released.values == [0, 1, 2])
        #expect(results.count == 256)
        results.removeAll()
        #expect(released.values.sorted() == Array(0..<259))
    }

    @Test func `all results are released before their bodies exceed half a MiB`() {
        let released = Recorder<Int>()
        var results = RecentResults()
        for number in 0..<32 { results.add(result(number, size: 16 * 1024, released)) }
        #expect(released.values.isEmpty)
        results.add(result(32, size: 100, released))
        #expect(released.values == Array(0..<32))
        #expect(results.count == 1)
    }

    @Test func `the size of replaced results does not count`() {
        let released = Recorder<Int>()
        var results = RecentResults()
        for number in 0..<2000 { results.add(result(number, size: 2000, released)) }
        #expect(results.count == 256)
    }

    @Test func `a result of more than 16 KiB is not kept`() {
        let released = Recorder<Int>()
        var results = RecentResults()
        results.add(result(1, size: 16 * 1024 + 1, released))
        #expect(released.values == [1])
        #expect(results.count == 0)
    }

    @Test func `the fields of a head count as part of its size`() {
        var head = HTTPResponse(url: nil, statusCode: 200)
        for number in 0..<300 { head.headers.append(name: "Field-\(number)", value: "value") }
        var results = RecentResults()
        results.add(TransferResult(response: head))
        #expect(results.count == 0)
    }
}
