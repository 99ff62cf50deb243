import OutletHTTP
import OutletTestSupport
import Testing

@testable import OutletPluginHost

@Suite struct FieldIndexTests {
    /// Makes random changes of every kind, with a fixed seed, with few and with many names.
    @Test(arguments: [8, 90, 400])
    func `fields come out as without an index`(names: Int) {
        var random = Steps(state: UInt64(names))
        var index = FieldIndex()
        var fields = HTTPHeaders()
        var plain = HTTPHeaders()
        for step in 0..<4000 {
            let number = Int(random.next() % UInt64(names))
            let name = step % 3 == 0 ? "X-NAME-\(number)" : "x-name-\(number)"
            let field = HTTPHeader(name: name, value: "\(step)")
            switch random.next() % 8 {
            case 0...4:
                index.update(field, in: &fields)
                plain.update(field)
            case 5:
                index.append(field, to: &fields)
                plain.append(field)
            case 6:
                index.remove(name, from: &fields)
                plain.remove(name: name)
            default:
                let values = plain.values(for: name)
                for nth in 0...values.count {
                    #expect(index.value(of: name, nth, in: fields) == values.dropFirst(nth).first)
                }
            }
        }
        #expect(Array(fields) == Array(plain))
    }

    @Test func `a list that others have changed is looked at anew`() {
        var index = FieldIndex()
        var fields = HTTPHeaders()
        for number in 0..<100 {
            index.update(HTTPHeader(name: "x-\(number)", value: "old"), in: &fields)
        }
        fields.remove(name: "x-0")
        index.invalidate()
        index.update(HTTPHeader(name: "x-1", value: "new"), in: &fields)
        #expect(fields.values(for: "x-1") == ["new"])
        #expect(fields.count == 99)
    }
}

extension FieldIndex {
    fileprivate mutating func value(
        of name: String, _ nth: Int, in headers: HTTPHeaders
    ) -> String? {
        Array(name.utf8).withUnsafeBufferPointer { position(of: $0, nth, in: headers) }
            .map { headers[$0].value }
    }
}
