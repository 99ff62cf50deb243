import COutletPlugin
import FoundationEssentials
import Glibc
import OutletHTTP
import OutletTestSupport
import Testing

@testable import OutletPluginHost

/// The functions of the host table, called the way a plugin calls them.
@Suite struct HostTableTests {
    /// An instance with its host table, and the handles of a request and of a call.
    private final class Caller {
        let recorder = ActivityRecorder()
        let owner: PluginOwner
        let table: UnsafePointer<outlet_host>
        let handle: RequestHandle
        let request: outlet_request
        let context: CallContext
        let call: outlet_call

        init(
            _ request: HTTPRequest = HTTPRequest(url: URL(string: "http://a.test/")),
            access: RequestHandle.Access = .answer, configuration: JSONValue? = nil,
            id: String = "a.test"
        ) throws {
            context = CallContext(deadline: 7, configuration: configuration)
            owner = PluginOwner(id: id, observer: recorder)
            table = try #require(HostTables.make(number: owner.register()))
            handle = RequestHandle(request, access: access)
            self.request = outlet_request(
                id: HandleTable.shared.insert(handle, owner: owner.number))
            call = outlet_call(id: HandleTable.shared.insert(context, owner: owner.number))
        }

        func set(attribute key: String, _ value: String) -> outlet_status {
            HostTableTests.with(key) { key in
                HostTableTests.with(value) {
                    table.pointee.request_set_attr(table, request, key, $0)
                }
            }
        }

        var misbehaviour: [PluginMisbehaviour.Kind: Int] { owner.misbehaviour }

        func set(_ name: String, _ value: String, in other: Caller? = nil) -> outlet_status {
            HostTableTests.with(name) { name in
                HostTableTests.with(value) {
                    table.pointee.request_set_header(table, (other ?? self).request, name, $0)
                }
            }
        }

        deinit {
            HandleTable.shared.remove(request.id)
            HandleTable.shared.remove(call.id)
        }
    }

    /// Calls `body` with a view of a text.
    private static func with<Result>(_ text: String, _ body: (outlet_view) -> Result) -> Result {
        Array(text.utf8).withUnsafeBufferPointer {
            body(outlet_view(ptr: $0.baseAddress, len: UInt64($0.count)))
        }
    }

    @Test(arguments: [
        (
            "a.test#first",
            "the handle of a request of a.test#first was used with the host table of a.test#second: "
                + "keep the table in the instance, or set OUTLET_F_PER_PROCESS"
        ),
        ("a.tests#first", "the handle of a request was used that was never passed to it"),
    ])
    func `the use of a handle of another instance of the plugin is named as such`(
        id: String, fact: String
    ) throws {
        let (own, thief) = (try Caller(id: id), try Caller(id: "a.test#second"))
        #expect(thief.set("X-Stolen", "1", in: own) == OUTLET_E_STALE)
        #expect(thief.recorder.misbehaviours.values.map(\.fact) == [fact])
    }

    @Test func `a handle of another instance is stale, and counts against the plugin that uses it`()
        throws
    {
        let (own, thief) = (try Caller(), try Caller())
        #expect(own.table != thief.table)
        #expect(thief.set("X-Stolen", "1", in: own) == OUTLET_E_STALE)
        #expect(own.set("X-Own", "1") == OUTLET_OK)
        #expect(own.handle.seal().request.headers.map(\.name) == ["X-Own"])
        #expect(thief.misbehaviour == [.foreignHandle: 1] && own.misbehaviour == [:])
        var deadline: UInt64 = 0
        #expect(thief.table.pointee.deadline_ns(thief.table, own.call, &deadline) == OUTLET_E_STALE)
        #expect(own.table.pointee.deadline_ns(own.table, own.call, &deadline) == OUTLET_OK)
        #expect(deadline == 7)
    }

    @Test func `a pointer that is not a host table is refused and not dereferenced`() throws {
        let caller = try Caller()
        var copy = caller.table.pointee
        let functions = caller.table.pointee
        let status = withUnsafePointer(to: &copy) { functions.quiesced($0) }
        #expect(status == OUTLET_E_STALE)
        let address = UInt(bitPattern: caller.table)
        for other in [address + 8, address + 512 * 40_000, 512, UInt.max - 511] {
            let table = try #require(UnsafePointer<outlet_host>(bitPattern: other))
            #expect(functions.quiesced(table) == OUTLET_E_STALE)
        }
        #expect(caller.misbehaviour == [:])
    }

    /// Whether a plugin can write to memory.
    private func isWritable(_ address: UnsafeRawPointer) throws -> Bool {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        try #require(write(ends[1], "x", 1) == 1)
        // `read` fails with `EFAULT` on memory that is not writable, where a store would crash.
        if read(ends[0], UnsafeMutableRawPointer(mutating: address), 1) == 1 { return true }
        #expect(errno == EFAULT)
        return false
    }

    @Test func `a plugin cannot write to its table, nor to the texts in it`() throws {
        let table = try Caller().table
        #expect(try !isWritable(table))
        for text in [table.pointee.name, table.pointee.version] {
            #expect(text.len > 0)
            #expect(try !isWritable(try #require(text.ptr)))
        }
    }

    @Test(arguments: HostTable.services)
    func `a plugin cannot write to the table of a service, which all plugins share`(
        name: String
    ) throws {
        let table = try #require(HostTable.table(ofService: name))
        #expect(table.load(as: UInt32.self) > 0)
        #expect(try !isWritable(table))
    }

    @Test func `a view longer than its limit is refused and not read`() throws {
        let caller = try Caller()
        let (table, host, request) = (caller.table, caller.table.pointee, caller.request)
        // The view's memory is not mapped: reading it would crash.
        func lie(_ length: Int32) -> outlet_view {
            outlet_view(ptr: UnsafePointer(bitPattern: 4096), len: UInt64(length) + 1)
        }
        var view = outlet_view()
        Self.with("a") { fine in
            let refused = [
                host.request_set_method(table, request, lie(OUTLET_MAX_VALUE)),
                host.request_set_url(table, request, lie(OUTLET_MAX_VALUE)),
                host.request_set_header(table, request, lie(OUTLET_MAX_NAME), fine),
                host.request_set_header(table, request, fine, lie(OUTLET_MAX_VALUE)),
                host.request_add_header(table, request, fine, lie(OUTLET_MAX_VALUE)),
                host.request_remove_header(table, request, lie(OUTLET_MAX_VALUE)),
                host.request_set_attr(table, request, lie(OUTLET_MAX_NAME), fine),
                host.request_set_attr(table, request, fine, lie(OUTLET_MAX_VALUE)),
                host.request_set_body(table, request, lie(OUTLET_MAX_BODY)),
                host.request_answer(table, request, 200, nil, 0, lie(OUTLET_MAX_BODY)),
                host.request_header(table, request, lie(OUTLET_MAX_NAME), 0, &view),
                host.request_attr(table, request, lie(OUTLET_MAX_NAME), &view),
                host.config_value(table, caller.call, lie(OUTLET_MAX_NAME), &view),
                host.fail(table, caller.call, lie(OUTLET_MAX_CODE), fine),
                host.fail(table, caller.call, fine, lie(OUTLET_MAX_MESSAGE)),
                host.log(table, caller.call, 0, lie(OUTLET_MAX_MESSAGE), nil, 0),
            ]
            #expect(refused.allSatisfy { $0 == OUTLET_E_ARGUMENT })
        }
        #expect(
            caller.recorder.lines.values.map { $0.message.parts(separatedBy: " ")[0] } == [
                "request_set_method", "request_set_url", "request_set_header",
                "request_set_header", "request_add_header", "request_remove_header",
                "request_set_attr", "request_set_attr", "request_set_body", "request_answer",
                "request_header", "request_attr", "config_value", "log",
            ])
        #expect(
            caller.context.reason(OUTLET_E_FAILED).message
                == "status -1, without a reason that can be read: its message has 4097 bytes, at "
                + "most 4096 are allowed")
        #expect(caller.misbehaviour == [:])
    }

    @Test func `a text that is not UTF-8 is refused, and a line says so`() throws {
        let caller = try Caller()
        let (table, host, request) = (caller.table, caller.table.pointee, caller.request)
        Self.with("a") { fine in
            [0x61, 0xFF].withUnsafeBufferPointer { (bytes: UnsafeBufferPointer<UInt8>) in
                let bad = outlet_view(ptr: bytes.baseAddress, len: UInt64(bytes.count))
                let fields = [
                    outlet_field(name: bad, value: fine), outlet_field(name: fine, value: bad),
                ]
                var view = outlet_view()
                let refused = [
                    host.log(table, caller.call, 0, bad, nil, 0),
                    host.log(table, caller.call, 0, fine, [fields[0]], 1),
                    host.log(table, caller.call, 0, fine, [fields[1]], 1),
                    host.request_set_method(table, request, bad),
                    host.request_set_url(table, request, bad),
                    host.request_set_attr(table, request, bad, fine),
                    host.request_set_attr(table, request, fine, bad),
                    host.fail(table, caller.call, fine, bad),
                    host.fail(table, caller.call, bad, fine),
                    host.config_value(table, caller.call, bad, &view),
                    host.request_attr(table, request, bad, &view),
                ]
                #expect(refused.allSatisfy { $0 == OUTLET_E_ARGUMENT })
            }
        }
        #expect(
            caller.recorder.lines.values.map(\.message) == [
                "log was refused: its message is not UTF-8",
                "log was refused: its fact's name is not UTF-8",
                "log was refused: its fact's value is not UTF-8",
                "request_set_method was refused: its method is not UTF-8",
                "request_set_url was refused: its url is not UTF-8",
                "request_set_attr was refused: its key is not UTF-8",
                "request_set_attr was refused: its value is not UTF-8",
                "config_value was refused: its key is not UTF-8",
                "request_attr was refused: its key is not UTF-8",
            ])
        #expect(
            caller.context.reason(OUTLET_E_FAILED).message
                == "status -1, without a reason that can be read: its code is not UTF-8")
        // The text may come from a server, which must not get the plugin suspended.
        #expect(caller.misbehaviour == [:])
    }

    @Test func `a refused change of a request is logged in the plugin's name`() throws {
        let caller = try Caller()
        let (table, host, request) = (caller.table, caller.table.pointee, caller.request)
        #expect(caller.set("a b", "1") == OUTLET_E_ARGUMENT)
        #expect(caller.set("X", "1\r\nY: 2") == OUTLET_E_ARGUMENT)
        #expect(caller.set("Content-Length", "1") == OUTLET_E_DENIED)
        Self.with(String(repeating: "x ", count: 100)) { name in
            #expect(host.request_remove_header(table, request, name) == OUTLET_OK)
            #expect(host.request_add_header(table, request, name, name) == OUTLET_E_ARGUMENT)
        }
        Self.with("file:///etc/passwd") { url in
            #expect(host.request_set_url(table, request, url) == OUTLET_E_ARGUMENT)
            #expect(host.request_answer(table, request, 99, nil, 0, url) == OUTLET_E_ARGUMENT)
            #expect(host.request_answer(table, request, 204, nil, 0, url) == OUTLET_E_ARGUMENT)
        }
        Self.with("HEAD") { method in
            #expect(host.request_set_method(table, request, method) == OUTLET_OK)
            #expect(host.request_answer(table, request, 200, nil, 0, method) == OUTLET_E_ARGUMENT)
            #expect(host.request_answer(table, request, 200, nil, 0, outlet_view()) == OUTLET_OK)
        }
        #expect(caller.set("Transfer-Encoding", "x") == OUTLET_E_ARGUMENT)
        #expect(caller.set("X", String(repeating: "x", count: 65_537)) == OUTLET_E_ARGUMENT)
        Self.with("") { key in
            #expect(host.request_set_attr(table, request, key, key) == OUTLET_E_ARGUMENT)
        }
        Self.with("CONNECT") { method in
            #expect(host.request_set_method(table, request, method) == OUTLET_E_ARGUMENT)
        }
        #expect(
            caller.recorder.lines.values.map(\.message) == [
                "request_set_header of 'a b' was refused: the name is not valid in HTTP",
                "request_set_header of 'X' was refused: the value is not valid in HTTP",
                "request_set_header of 'Content-Length' was refused: the host sets that itself",
                "request_add_header of '\(String(repeating: "x ", count: 32))' was refused: the name "
                    + "is not valid in HTTP",
                "request_set_url was refused: the URL is neither http nor https",
                "request_answer was refused: the status is 99, not 200 to 599",
                "request_answer was refused: it has a body, which the status 204 must not have",
                "request_answer was refused: it has a body, which an answer to HEAD must not have",
                "request_set_header of 'Transfer-Encoding' was refused: the transport sets this field",
                "request_set_header was refused: its value has 65537 bytes, at most 65536 are allowed",
                "request_set_attr was refused: the key is empty",
                "request_set_method was refused: only the transport sends CONNECT",
            ])
        #expect(caller.recorder.lines.values.allSatisfy { $0.level == .warning })
        #expect(caller.misbehaviour == [:])
    }

    @Test func `a call has a setting, or no such one, or no configuration, which is logged`() throws
    {
        let configured = try Caller(configuration: ["word": "yes"])
        let plain = try Caller()
        var view = outlet_view()
        func setting(_ name: String, of caller: Caller) -> outlet_status {
            Self.with(name) {
                caller.table.pointee.config_value(caller.table, caller.call, $0, &view)
            }
        }
        #expect(setting("word", of: configured) == OUTLET_OK)
        #expect(setting("other", of: configured) == OUTLET_E_NOT_FOUND)
        #expect(configured.recorder.lines.count == 0)
        #expect(setting("word", of: plain) == OUTLET_E_STATE)
        #expect(
            plain.recorder.lines.values.map(\.message) == [
                "config_value was refused: its call is neither create nor reconfigure"
            ])
        #expect(plain.misbehaviour == [:])
    }

    @Test(arguments: [
        ("1e2", "100"), ("100.0", "100"), ("-0.5e1", "-5"), ("1E+2", "100"), ("1.5", "1.5"),
        ("100", "100"), ("1e300", "1e300"), ("12345678901234567890", "12345678901234567890"),
    ])
    func `a whole number is a setting without fraction and exponent`(number: String, text: String)
        throws
    {
        let caller = try Caller(configuration: ["n": try JSONValue(parsing: number)])
        var view = outlet_view()
        Self.with("n") {
            let status = caller.table.pointee.config_value(caller.table, caller.call, $0, &view)
            #expect(status == OUTLET_OK)
        }
        let bytes = UnsafeBufferPointer(start: view.ptr, count: Int(view.len))
        #expect(String(decoding: bytes, as: UTF8.self) == text)
    }

    @Test(arguments: [
        ("outlet.timers/1", OUTLET_E_UNSUPPORTED, PluginLogLine.Level.info),
        ("outlet.http/1", OUTLET_E_DENIED, .warning),
    ])
    func `a service that a plugin does not get is logged`(
        name: String, status: outlet_status, level: PluginLogLine.Level
    ) throws {
        let caller = try Caller()
        var table: UnsafeRawPointer?
        Self.with(name) {
            #expect(caller.table.pointee.extension(caller.table, $0, &table) == status)
        }
        let line = try #require(caller.recorder.lines.values.first)
        #expect(line.level == level)
        #expect(
            line.message
                == (level == .warning
                    ? "extension was refused: outlet.http/1 needs a permission such as net:example.com"
                    : "extension was refused: there is no service 'outlet.timers/1'; there are "
                        + "outlet.http/1, outlet.stream/1, outlet.timer/1"))
    }

    @Test func `a change of a request that a hook may only read is logged`() throws {
        let caller = try Caller(access: .read)
        #expect(caller.set("X", "1") == OUTLET_E_STATE)
        #expect(
            caller.recorder.lines.values.map(\.message) == [
                "request_set_header of 'X' was refused: not in this hook"
            ])
    }

    @Test func `a change of a request after its hook has settled is a violation`() throws {
        let caller = try Caller()
        _ = caller.handle.seal()
        #expect(caller.set("X", "1") == OUTLET_E_STALE)
        #expect(caller.misbehaviour == [.staleHandle: 1])
        #expect(caller.recorder.lines.count == 0)
    }

    @Test func `a refused reason does not replace one that was given`() throws {
        let caller = try Caller()
        let (table, fail) = (caller.table, caller.table.pointee.fail)
        Self.with("expired") { code in
            Self.with("the token has expired") { message in
                #expect(fail(table, caller.call, code, message) == OUTLET_OK)
                #expect(fail(table, caller.call, message, message) == OUTLET_E_ARGUMENT)
            }
        }
        let reason = caller.context.reason(OUTLET_E_DENIED)
        #expect(reason.code == "expired" && reason.message == "the token has expired")
        #expect(reason.isRefusal)
    }

    @Test func `values up to their limit are accepted`() throws {
        let caller = try Caller()
        let value = String(repeating: "v", count: Int(OUTLET_MAX_VALUE))
        #expect(caller.set(String(repeating: "n", count: Int(OUTLET_MAX_NAME)), value) == OUTLET_OK)
        #expect(caller.handle.seal().request.headers.first?.value == value)
    }

    @Test func `a request may have at most 2000 fields, and each can still be changed`() throws {
        var request = HTTPRequest(url: URL(string: "http://a.test/"))
        for index in 1..<Int(OUTLET_MAX_FIELDS) {
            request.headers.append(name: "X-\(index)", value: "1")
        }
        let caller = try Caller(request)
        #expect(caller.set("X-Last", "1") == OUTLET_OK)
        #expect(caller.set("X-More", "1") == OUTLET_E_ARGUMENT)
        #expect(caller.set("X-1", "2") == OUTLET_OK)
        let headers = caller.handle.seal().request.headers
        #expect(headers.count == Int(OUTLET_MAX_FIELDS) && headers.first?.value == "2")
    }

    @Test func `plugins may set at most 1000 attributes, and each can still be changed`() throws {
        let caller = try Caller()
        for index in 1..<Int(OUTLET_MAX_ATTRIBUTES) {
            #expect(caller.set(attribute: "x.\(index)", "1") == OUTLET_OK)
        }
        #expect(caller.set(attribute: "x.last", "1") == OUTLET_OK)
        #expect(caller.set(attribute: "x.more", "1") == OUTLET_E_ARGUMENT)
        #expect(caller.set(attribute: "x.1", "2") == OUTLET_OK)
        let line = try #require(caller.recorder.lines.values.first).message
        #expect(
            line.hasPrefix(
                "request_set_attr was refused: a request has at most 1000 attributes of plugins"))
        // A later hook goes on counting.
        let later = RequestHandle(caller.handle.seal().request, access: .answer)
        #expect(later.set(attribute: "x.more", value: "1") == OUTLET_E_ARGUMENT)
        #expect(later.attribute("x.1").map { Array($0.block) } == Array("2".utf8))
        #expect(later.seal().request.context.notes.count == Int(OUTLET_MAX_ATTRIBUTES))
    }

    @Test func `the attributes of plugins have at most 1 MiB together`() throws {
        let caller = try Caller()
        let value = String(repeating: "v", count: Int(OUTLET_MAX_VALUE) - 2)
        for index in 10..<26 {
            #expect(caller.set(attribute: "\(index)", value) == OUTLET_OK)
        }
        #expect(caller.set(attribute: "x", "") == OUTLET_E_ARGUMENT)
        #expect(caller.set(attribute: "10", value + "v") == OUTLET_E_ARGUMENT)
        #expect(caller.set(attribute: "10", String(value.dropLast())) == OUTLET_OK)
        #expect(caller.set(attribute: "x", "") == OUTLET_OK)
        #expect(caller.set(attribute: "y", "") == OUTLET_E_ARGUMENT)
    }

    @Test func `a log line has at most 32 facts and a valid level`() throws {
        let caller = try Caller()
        let (table, host) = (caller.table, caller.table.pointee)
        func log(level: UInt32, facts count: Int, about call: outlet_call) -> outlet_status {
            Self.with("attempt") { name in
                Self.with("2") { value in
                    Array(repeating: outlet_field(name: name, value: value), count: count)
                        .withUnsafeBufferPointer { fields in
                            Self.with("sent") {
                                host.log(table, call, level, $0, fields.baseAddress, UInt64(count))
                            }
                        }
                }
            }
        }
        #expect(log(level: 1, facts: 32, about: caller.call) == OUTLET_OK)
        #expect(log(level: 1, facts: 0, about: outlet_call(id: 0)) == OUTLET_OK)
        #expect(log(level: 1, facts: 33, about: caller.call) == OUTLET_E_ARGUMENT)
        #expect(log(level: 4, facts: 1, about: caller.call) == OUTLET_E_ARGUMENT)
        let over = outlet_call(id: caller.request.id)
        #expect(log(level: 1, facts: 1, about: over) == OUTLET_E_STALE)
        let lines = caller.recorder.lines.values
        #expect(lines.prefix(2).map(\.facts.count) == [32, 0])
        #expect(
            lines.map(\.message) == [
                "sent", "sent",
                "log was refused: its list of facts has 33 elements, at most 32 are allowed",
                "log was refused: its level is 4, which is none that it may be",
            ])
        #expect(lines.first?.facts.first == PluginLogLine.Fact(name: "attempt", value: "2"))
    }

    // The host's own codes have capitals.
    @Test(arguments: [
        ("token-expired2", true), ("", true), ("timedOut", true), ("a b", false), ("\u{E4}", false),
    ])
    func `a failure's code may only have ASCII letters, digits and hyphens`(
        code: String, isWord: Bool
    ) throws {
        let caller = try Caller()
        let status = Self.with(code) { code in
            Self.with("no") { caller.table.pointee.fail(caller.table, caller.call, code, $0) }
        }
        #expect(status == (isWord ? OUTLET_OK : OUTLET_E_ARGUMENT))
        let reason = caller.context.reason(OUTLET_E_FAILED)
        #expect(reason.code == (isWord ? code : "") && (reason.message == "no") == isWord)
    }

    @Test func `a table of an older minor version is read without newer fields`() throws {
        var whole = outlet_hooks()
        whole.prepare = { _, _, _, _ in OUTLET_OK }
        whole.will_send = { _, _, _ in }
        let part = try withUnsafePointer(to: whole) {
            try copyTable($0, "a table", size: 16, least: 16, empty: outlet_hooks())
        }
        #expect(part.prepare != nil && part.will_send == nil)
    }

    @Test func `a table of a size that no table has is not read`() {
        let table = outlet_hooks()
        let sizes = [
            (0, false), (16, false), (23, false), (24, true), (28, false), (32, true),
            (65_536, true), (65_544, false),
        ]
        for (size, isRead) in sizes {
            let copy = withUnsafePointer(to: table) {
                try? copyTable($0, "a table", size: UInt32(size), least: 24, empty: outlet_hooks())
            }
            #expect((copy != nil) == isRead)
        }
    }
}
