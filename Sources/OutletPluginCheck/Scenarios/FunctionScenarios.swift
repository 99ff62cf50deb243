import FoundationEssentials
import OutletHTTP
import OutletPluginHost

/// The tests of exported functions.
extension CheckSubject {
    /// Calls all functions with ordinary and extreme values.
    func checkFunctions() async throws {
        let host = try load()
        if host.plugins.allSatisfy(\.functions.isEmpty) {
            report.skip("it exports no functions")
        }
        callWithEachValue(host)
        callFunctions(of: host, count: 40)
        await end(host)
    }

    /// Calls each function of the plugins with each value of each parameter, one with two parameters
    /// also with each pair of values, as long as there is time; empty texts and bytes also with a null
    /// pointer.
    private func callWithEachValue(_ host: PluginHost) {
        var random = SeededRandom(seed: job.seed)
        for plugin in host.plugins {
            for function in plugin.functions {
                let name = "\(plugin.id).\(function.name)"
                for values in Self.eachValue(of: function.signature, &random) where hasTime {
                    call(name, values, on: host)
                    guard values.contains(where: \.isEmptyView) else { continue }
                    call(name, values, on: host, hasNullViews: true)
                }
            }
        }
    }

    /// Calls a function, which may fail: the observer reports a failure without a reason.
    private func call(
        _ name: String, _ values: [PluginValue], on host: PluginHost, hasNullViews: Bool = false
    ) {
        let shown = values.map {
            hasNullViews && $0.isEmptyView
                ? "an empty view with a null pointer" : String("\($0)".prefix(40))
        }
        report.step("call \(name)(\(shown.joined(separator: ", ")))")
        _ = try? hasNullViews ? host.callWithNullViews(name, values) : host.call(name, values)
    }

    /// Lists of arguments that contain each value of each parameter, and of two parameters each pair.
    private static func eachValue(
        of signature: String, _ random: inout SeededRandom
    ) -> [[PluginValue]] {
        guard let kinds = kinds(of: signature), let first = kinds.first else { return [] }
        let lists = kinds.map(values)
        switch kinds.count {
        case 1: return values(of: first).map { [$0] }
        case 2: return lists[0].flatMap { value in lists[1].map { [value, $0] } }
        default:
            return lists.indices.flatMap { index in
                lists[index].map { value in
                    var made = kinds.map { Self.value($0, onlyShort: true, &random) }
                    made[index] = value
                    return made
                }
            }
        }
    }

    /// The values of a parameter.
    private static func values(of kind: Kind) -> [PluginValue] {
        switch kind {
        case .letter(let letter): edges[letter] ?? []
        case .function(let letter):
            (edges[letter] ?? [.nothing]).map { answer in
                .function(PluginCallback { _ in answer })
            }
        }
    }

    /// Calls each function of the plugins with random values.
    ///
    /// - Parameters:
    ///   - host: The plugins.
    ///   - count: The number of calls of each function. One without parameters is called at most 3
    ///     times, unless `isRepetition` is `true`: all calls are the same.
    ///   - isRepetition: Whether all arguments are short, and functions without parameters are
    ///     called as often as others.
    func callFunctions(of host: PluginHost, count: Int, isRepetition: Bool = false) {
        var random = SeededRandom(seed: job.seed)
        for plugin in host.plugins {
            for function in plugin.functions {
                let name = "\(plugin.id).\(function.name)"
                guard let kinds = Self.kinds(of: function.signature) else {
                    report.step("\(name): no values for \(function.signature)")
                    continue
                }
                let times = kinds.isEmpty && !isRepetition ? min(count, 3) : count
                for _ in 0..<times {
                    let values = kinds.map { Self.value($0, onlyShort: isRepetition, &random) }
                    call(name, values, on: host)
                }
            }
        }
    }

    /// The type of a parameter that the caller supplies.
    private enum Kind {
        case letter(Unicode.Scalar)
        /// A callback, with the letter of its result type.
        case function(Unicode.Scalar)
    }

    /// Returns the parameters that the caller supplies.
    ///
    /// - Returns: `nil` when there are no values for one of the types.
    private static func kinds(of signature: String) -> [Kind]? {
        guard let (_, rest) = signature.cut(around: "("), rest.endsWithBytes(of: ")") else {
            return nil
        }
        var kinds: [Kind] = []
        var letters = rest.unicodeScalars.dropLast()
        while let letter = letters.popFirst() {
            switch letter {
            // The host supplies these arguments.
            case "c", "o", "O": continue
            case "f":
                guard letters.popFirst() == "{", let result = letters.popFirst() else { return nil }
                kinds.append(.function(result))
                while let inner = letters.popFirst(), inner != "}" {}
            default:
                guard edges[letter] != nil else { return nil }
                kinds.append(.letter(letter))
            }
        }
        return kinds
    }

    private static func value(
        _ kind: Kind, onlyShort: Bool, _ random: inout SeededRandom
    ) -> PluginValue {
        func value(of letter: Unicode.Scalar) -> PluginValue {
            let values = edges[letter]?.filter { !onlyShort || $0.isShort }
            return values?.randomElement(using: &random) ?? .nothing
        }
        switch kind {
        case .letter(let letter): return value(of: letter)
        case .function(let letter):
            let answer = value(of: letter)
            return .function(PluginCallback { _ in answer })
        }
    }

    /// The values by the letters of their types.
    ///
    /// No text is the name of a file outside of the directory in which it is looked up.
    private static let edges: [Unicode.Scalar: [PluginValue]] = [
        "b": [false, true],
        "i": [0, 1, -1, 1000, .int(Int64(Int32.min)), .int(Int64(Int32.max))],
        "I": [0, 1, 1000, .uint(UInt64(UInt32.max))],
        "l": [0, 1, -1, 1000, .int(.min), .int(.max)],
        "L": [0, 1, 1000, .uint(.max)],
        "d": [
            0.0, .double(-0.0), 1.5, .double(.infinity), .double(-.infinity), .double(.nan),
            .double(.greatestFiniteMagnitude), .double(.leastNonzeroMagnitude),
        ],
        "s": [
            "", "check", "\u{0}", "\u{FF}\u{20AC}\u{1F600}", "%n%s%x", "check/../check",
            "{\"a\": [1]}", .text(String(repeating: "a", count: 1 << 20)), "\r\n\u{1B}[2J",
        ],
        "y": [
            .bytes([]), .bytes([0]), .bytes([0xFF, 0xC0, 0x80, 0xED, 0xA0, 0x80]),
            .bytes((0...255).map { UInt8($0) }), .bytes([UInt8](repeating: 0xFE, count: 1 << 20)),
        ],
        "r": [
            .request(HTTPRequest(url: nil)),
            .request(
                HTTPRequest(
                    url: URL(string: "http://check.example/"), method: .post,
                    headers: ["X-Check": "1"], body: .data(Data([0xFF])))),
        ],
    ]
}

extension PluginValue {
    /// Whether it is an empty text, or no bytes.
    fileprivate var isEmptyView: Bool { self == .text("") || self == .bytes([]) }

    /// Whether it is no text and no bytes of over 1000 bytes.
    fileprivate var isShort: Bool {
        switch self {
        case .text(let text): text.utf8.count <= 1000
        case .bytes(let bytes): bytes.count <= 1000
        default: true
        }
    }
}
