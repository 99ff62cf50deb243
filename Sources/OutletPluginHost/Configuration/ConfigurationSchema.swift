import CJSONSchema
import OutletHTTP

/// A JSON Schema that configuration is held against: draft 4, 6 or 7.
///
/// Nothing is fetched, and time, recursion and memory are bounded whatever the schema says.
struct ConfigurationSchema {
    /// The schema as JSON.
    let text: String

    /// Why the schema, or what it is held against, cannot be read.
    enum Unusable: Error {
        case schema(reason: String)
        case value(reason: String)
        /// There is no memory, or no thread.
        case noResources
    }

    /// Whether the schema can be used at all.
    func check() throws(Unusable) {
        _ = try outcome { cjsonschema_check($0, nil, $1, $2) }
    }

    /// What a value breaks, a hundred violations at most; nothing of the value is in them but keys.
    func violations(of value: JSONValue) throws(Unusable) -> [ConfigurationViolation] {
        var text = value.text()
        return try outcome { schema, report, context in
            text.withUTF8 { bytes in
                ConfigurationSchema.borrowing(bytes) { value in
                    withUnsafePointer(to: value) { cjsonschema_check(schema, $0, report, context) }
                }
            }
        }
    }

    private typealias Report =
        @convention(c) (
            UnsafeMutableRawPointer?, UnsafePointer<cjsonschema_violation>
        ) -> Void

    private func outcome(
        _ check: (cjsonschema_text, Report, UnsafeMutableRawPointer) -> cjsonschema_outcome
    ) throws(Unusable) -> [ConfigurationViolation] {
        var violations: [ConfigurationViolation] = []
        var text = text
        let outcome = text.withUTF8 { bytes in
            ConfigurationSchema.borrowing(bytes) { schema in
                withUnsafeMutablePointer(to: &violations) { list in
                    let add: Report = { context, violation in
                        context?.assumingMemoryBound(to: [ConfigurationViolation].self)
                            .pointee.append(ConfigurationViolation(violation.pointee))
                    }
                    return check(schema, add, UnsafeMutableRawPointer(list))
                }
            }
        }
        switch outcome {
        case CJSONSCHEMA_VALID, CJSONSCHEMA_INVALID: return violations
        case CJSONSCHEMA_BAD_SCHEMA: throw .schema(reason: violations.first?.fact ?? "")
        case CJSONSCHEMA_BAD_VALUE: throw .value(reason: violations.first?.fact ?? "")
        default: throw .noResources
        }
    }

    private static func borrowing<Result>(
        _ bytes: UnsafeBufferPointer<UInt8>, _ body: (cjsonschema_text) -> Result
    ) -> Result {
        bytes.withMemoryRebound(to: CChar.self) { characters in
            // An empty buffer may have no address, and nothing is read from this one.
            withUnsafePointer(to: 0) { none in
                body(
                    cjsonschema_text(
                        bytes: characters.baseAddress ?? none, count: characters.count))
            }
        }
    }
}

extension ConfigurationViolation {
    fileprivate init(_ violation: cjsonschema_violation) {
        let key = String(violation.key)
        self.init(
            path: ConfigurationViolation.shortened(String(violation.path)),
            fact: violation.key.count == 0
                ? String(violation.fact)
                : ConfigurationViolation.unknown(
                    key,
                    known: (0..<violation.name_count).compactMap { index in
                        violation.names.map { String($0[index]) }
                    }))
    }
}

extension String {
    fileprivate init(_ text: cjsonschema_text) {
        self.init(
            decoding: UnsafeRawBufferPointer(start: text.bytes, count: text.count), as: UTF8.self)
    }
}
