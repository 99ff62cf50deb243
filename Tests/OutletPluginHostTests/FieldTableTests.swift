import COutletPlugin
import OutletHTTP
import OutletTestSupport
import Testing

@testable import OutletPluginHost

@Suite struct FieldTableTests {
    /// Makes random changes of every kind, with a fixed seed, with few and with many names.
    @Test(arguments: [8, 90, 400])
    func `a table returns the same fields as a list after random changes`(names: Int) {
        var random = Steps(state: UInt64(names))
        var plain = HTTPHeaders()
        for number in 0..<names / 2 { plain.append(name: "x-\(number)", value: "first") }
        let first = plain
        var table = FieldTable()
        table.load(first)
        for step in 0..<4000 {
            let number = Int(random.next() % UInt64(names))
            let name = step % 3 == 0 ? "X-\(number)" : "x-\(number)"
            let field = HTTPHeader(name: name, value: String(repeating: "\(step)", count: step % 9))
            switch random.next() % 8 {
            case 0...4:
                table.set(field)
                plain.update(field)
            case 5:
                table.append(field)
                plain.append(field)
            case 6:
                table.remove(name)
                plain.remove(name: name)
            default:
                let values = plain.values(for: name)
                for nth in 0...values.count {
                    #expect(table.value(of: name, nth) == values.dropFirst(nth).first)
                }
            }
            #expect(table.count == plain.count)
        }
        #expect(Array(table.changes(to: first)) == Array(plain))
        #expect(table.listed == Array(plain))
    }

    @Test func `a list that was not changed is returned as it is`() {
        var headers = HTTPHeaders()
        headers.append(name: "A", value: "1")
        var table = FieldTable()
        table.load(headers)
        #expect(table.value(of: "a", 0) == "1" && table.listed.count == 1)
        #expect(!table.isChanged && table.changes(to: headers).isSame(as: headers))
    }

    @Test func `a value that a plugin has read keeps its bytes`() {
        var table = FieldTable()
        table.load(["A": "one", "B": "two"])
        let (one, all) = (table.copied("A"), table.all())
        for value in ["six", "seven"] {
            table.set(HTTPHeader(name: "A", value: value))
            #expect(table.value(of: "A", 0) == value)
        }
        #expect(one.map { String(decoding: $0.block, as: UTF8.self) } == "one")
        #expect(all.first?[0].value.text(.value) == "one")
        #expect(table.all().first?[0].value.text(.value) == "seven")
    }

    @Test func `names with the same ending are distinguished`() {
        var table = FieldTable()
        table.load([])
        for name in ["First-Long-Name", "Other-Long-Name", "g-Name", "Name", "[-Name"] {
            table.append(HTTPHeader(name: name, value: name))
        }
        for name in ["first-long-name", "OTHER-LONG-NAME", "name", "G-name", "[-name"] {
            #expect(table.value(of: name, 0)?.equalsIgnoringCase(name) == true)
        }
        #expect(table.value(of: "{-name", 0) == nil && table.value(of: "", 0) == nil)
    }
}

extension FieldTable {
    fileprivate mutating func set(_ field: HTTPHeader) {
        Array(field.name.utf8).withUnsafeBufferPointer { name in
            Array(field.value.utf8).withUnsafeBufferPointer { value in
                guard let place = first(named: name) else { return append(name, value) }
                replace(place, with: name, value)
            }
        }
    }

    fileprivate mutating func append(_ field: HTTPHeader) {
        Array(field.name.utf8).withUnsafeBufferPointer { name in
            Array(field.value.utf8).withUnsafeBufferPointer { append(name, $0) }
        }
    }

    fileprivate mutating func remove(_ name: String) {
        Array(name.utf8).withUnsafeBufferPointer { remove($0) }
    }

    fileprivate mutating func copied(_ name: String) -> CopiedBytes? {
        Array(name.utf8).withUnsafeBufferPointer { value(of: $0, 0) }
    }

    fileprivate mutating func value(of name: String, _ nth: Int) -> String? {
        Array(name.utf8).withUnsafeBufferPointer { value(of: $0, nth) }
            .map { String(decoding: $0.block, as: UTF8.self) }
    }

    /// The fields of ``all()``.
    fileprivate var listed: [HTTPHeader] {
        mutating get {
            let all = all()
            return UnsafeBufferPointer(start: all.first, count: all.count).map {
                HTTPHeader(name: $0.name.text(.name) ?? "", value: $0.value.text(.value) ?? "")
            }
        }
    }
}
