import CJSONSchema
package import OutletHTTP

/// A JSON Schema (draft 4, 6 or 7) that validates configuration.
///
/// Nothing is fetched; time, recursion depth and memory are limited whatever the schema contains.
package struct ConfigurationSchema {
    /// The schema as JSON.
    let text: String

    /// Why the schema or the value cannot be processed.
    enum Unusable: Error {
        case schema(reason: String)
        case value(reason: String)
        /// There is not enough memory, or no thread can be started.
        case noResources
    }

    /// - Parameter text: The schema as JSON.
    package init(text: String) { self.text = text }

    /// Checks that the schema can be used.
    ///
    /// - Throws: ``Unusable/schema(reason:)`` if not, or ``Unusable/noResources``.
    func check() throws(Unusable) {
        _ = try outcome { cjsonschema_check($0, nil, $1, $2) }
        try checkKeys()
    }

    /// Checks that no object of the schema has a key twice, of which only one would count.
    private func checkKeys() throws(Unusable) {
        // What is not JSON was refused before.
        guard let value = try? JSONValue(parsing: Array(text.utf8)),
            let fault = ConfigurationViolation.faults(in: value).first
        else { return }
        let place = fault.path.isEmpty ? "" : "\(fault.path): "
        throw .schema(reason: place + fault.fact)
    }

    /// Validates configuration.
    ///
    /// - Returns: The violations, each with the origin of the key that it lies in.
    /// - Throws: ``Unusable`` when the schema or the value cannot be processed.
    func violations(
        of configuration: LayeredConfiguration
    ) throws(Unusable) -> [ConfigurationViolation] {
        try violations(of: .object(configuration.object), source: configuration.source)
    }

    /// Whether a value is valid; `true` also when that cannot be found out, as with an invalid schema.
    package func allows(_ value: JSONValue) -> Bool {
        do {
            return try violations(of: value).isEmpty
        } catch .value {
            return false
        } catch {
            return true
        }
    }

    /// Validates a value.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - suggestion: Returns what may be meant by an unknown key of the object at a JSON pointer, if
    ///     no known key resembles it.
    ///   - source: Returns the origin of a member of the value, which it receives as a token of a JSON
    ///     pointer; with `nil`, the origin of the whole value.
    /// - Returns: At most 100 violations, which contain keys but no values.
    /// - Throws: ``Unusable`` when the schema or the value cannot be processed.
    func violations(
        of value: JSONValue,
        suggestion: (_ key: String, _ path: String) -> String? = { _, _ in nil },
        source: (_ name: String?) -> String = { _ in "" }
    ) throws(Unusable) -> [ConfigurationViolation] {
        var text = value.text()
        let reported = try outcome { schema, report, context in
            text.withUTF8 { bytes in
                ConfigurationSchema.borrowing(bytes) { value in
                    withUnsafePointer(to: value) { cjsonschema_check(schema, $0, report, context) }
                }
            }
        }
        try checkKeys()
        return reported.map { reported in
            var violation = reported.violation
            violation.source = source(reported.name)
            if let key = reported.unknownKey, let suggestion = suggestion(key, violation.path) {
                violation.fact = ConfigurationViolation.unknown(key, suggestion: suggestion)
            }
            return violation
        }
    }

    private struct Reported {
        var violation: ConfigurationViolation
        /// The top-level member that contains the violation, as a token of a JSON pointer.
        let name: String?

        /// An unknown key that resembles no known one; `nil` for other violations.
        let unknownKey: String?

        init(_ violation: cjsonschema_violation) {
            let path = String(violation.path)
            let key = String(violation.key)
            let known = (0..<violation.name_count).compactMap { index in
                violation.names.map { String($0[index]) }
            }
            let nearest = Suggestion.nearest(to: key, among: known)
            unknownKey = key.isEmpty || nearest != nil ? nil : key
            self.violation = ConfigurationViolation(
                path: ConfigurationViolation.shortened(path),
                fact: key.isEmpty
                    ? String(violation.fact)
                    : ConfigurationViolation.unknown(key, suggestion: nearest))
            name = path.firstPointerToken ?? (key.isEmpty ? nil : key.pointerToken)
        }
    }

    private typealias Report =
        @convention(c) (
            UnsafeMutableRawPointer?, UnsafePointer<cjsonschema_violation>
        ) -> Void

    private func outcome(
        _ check: (cjsonschema_text, Report, UnsafeMutableRawPointer) -> cjsonschema_outcome
    ) throws(Unusable) -> [Reported] {
        var violations: [Reported] = []
        var text = text
        let outcome = text.withUTF8 { bytes in
            ConfigurationSchema.borrowing(bytes) { schema in
                withUnsafeMutablePointer(to: &violations) { list in
                    let add: Report = { context, violation in
                        context?.assumingMemoryBound(to: [Reported].self)
                            .pointee.append(Reported(violation.pointee))
                    }
                    return check(schema, add, UnsafeMutableRawPointer(list))
                }
            }
        }
        switch outcome {
        case CJSONSCHEMA_VALID, CJSONSCHEMA_INVALID: return violations
        case CJSONSCHEMA_BAD_SCHEMA: throw .schema(reason: fault(violations.first?.violation))
        case CJSONSCHEMA_BAD_VALUE: throw .value(reason: violations.first?.violation.fact ?? "")
        default: throw .noResources
        }
    }

    /// What is wrong with the schema, and where.
    private func fault(_ reported: ConfigurationViolation?) -> String {
        guard let reported else { return "" }
        if reported.fact == "it is not JSON" {
            do {
                _ = try JSONValue(parsing: Array(text.utf8))
            } catch {
                return "\(error)"
            }
        }
        return reported.path.isEmpty ? reported.fact : "\(reported.path): \(reported.fact)"
    }

    private static func borrowing<Result>(
        _ bytes: UnsafeBufferPointer<UInt8>, _ body: (cjsonschema_text) -> Result
    ) -> Result {
        bytes.withMemoryRebound(to: CChar.self) { characters in
            // The base address of an empty buffer may be nil; this placeholder is never read.
            withUnsafePointer(to: 0) { none in
                body(
                    cjsonschema_text(
                        bytes: characters.baseAddress ?? none, count: characters.count))
            }
        }
    }
}

extension String {
    fileprivate init(_ text: cjsonschema_text) {
        self.init(
            decoding: UnsafeRawBufferPointer(start: text.bytes, count: text.count), as: UTF8.self)
    }
}
