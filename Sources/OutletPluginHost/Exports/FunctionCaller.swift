import COutletPlugin
import OutletSession
import OutletTransport

/// Calls the functions that one plugin exports.
///
/// Thread: any.
final class FunctionCaller: Sendable {
    private let instance: PluginInstance
    private let interfaces = Lock([String: CallInterface]())

    init(_ instance: PluginInstance) {
        self.instance = instance
    }

    /// Calls a function with values that need not be of its exact kinds.
    func call(
        _ export: PluginExport, _ values: [PluginValue]
    ) throws(PluginCallError) -> PluginValue {
        let parameters = export.signature.parameters
        guard values.count == parameters.count else {
            throw .wrongCount(declaration: declaration(export), given: values.count)
        }
        var converted: [PluginValue] = []
        for (index, (value, kind)) in zip(values, parameters).enumerated() {
            guard let fitting = value.converted(to: kind) else {
                throw .wrongType(
                    declaration: declaration(export), position: index + 1, wanted: kind.name,
                    given: "it is \(value.kind), \(String(reflecting: value.description))")
            }
            converted.append(fitting)
        }
        return try perform(export, converted)
    }

    /// Calls a function with texts, each read as the kind that is wanted.
    func call(
        _ export: PluginExport, parsing texts: [String]
    ) throws(PluginCallError) -> PluginValue {
        let parameters = export.signature.parameters
        guard texts.count == parameters.count else {
            throw .wrongCount(declaration: declaration(export), given: texts.count)
        }
        var values: [PluginValue] = []
        for (index, (text, kind)) in zip(texts, parameters).enumerated() {
            guard let value = PluginValue(parsing: text, as: kind) else {
                throw .wrongType(
                    declaration: declaration(export), position: index + 1, wanted: kind.name,
                    given: String(reflecting: text))
            }
            values.append(value)
        }
        return try perform(export, values)
    }

    private func declaration(_ export: PluginExport) -> String {
        "\(instance.id).\(export.name)\(export.signature.declaration)"
    }

    private func perform(
        _ export: PluginExport, _ values: [PluginValue]
    ) throws(PluginCallError) -> PluginValue {
        guard let interface = interface(export) else {
            let text = "libffi cannot call \(export.signature) on this machine"
            throw .failed(failure(PluginReason(message: text)))
        }
        let table = HandleTable.shared
        let owner = instance.owner
        let context = CallContext(deadline: 0)
        let sink = SinkHandle()
        let call = table.insert(context, owner: owner.number)
        let output = table.insert(sink, owner: owner.number)
        defer {
            table.remove(call)
            table.remove(output)
        }
        guard let lent = CallLoans(values, export.signature, for: instance) else {
            let text = "libffi makes no function pointers on this machine"
            throw .failed(failure(PluginReason(message: text)))
        }
        defer { lent.end() }
        let stopwatch = Stopwatch(owner.observer)
        let returned: PluginValue
        do {
            returned = try instance.perform(.call, overlapping: export.isCallableAnywhere) {
                interface.call(
                    export.function, on: $0, values: values, call: outlet_call(id: call),
                    sink: outlet_sink(id: output), lent: lent)
            }
        } catch {
            throw .failed(error)
        }
        var error: PluginError?
        var text: String?
        if export.signature.arguments.contains(.sink) {
            text = String(validating: sink.content, as: UTF8.self)
            if text == nil { error = failure(PluginReason(message: "its text is not UTF-8")) }
        }
        if export.signature.result == .status, case .int(let status) = returned,
            status != Int64(OUTLET_OK)
        {
            error = failure(context.reason(outlet_status(truncatingIfNeeded: status)))
        }
        stopwatch.report(
            owner, .call, requestID: nil, effects: { [export.name] }, failure: error?.message)
        if let error { throw .failed(error) }
        if export.signature.hasSink { return text.map { .text($0) } ?? .bytes(sink.content) }
        return export.signature.result == .status ? .nothing : returned
    }

    private func failure(_ reason: PluginReason) -> PluginError {
        instance.failure(of: .call, reason)
    }

    private func interface(_ export: PluginExport) -> CallInterface? {
        interfaces.withLock { interfaces in
            if let interface = interfaces[export.name] { return interface }
            let interface = CallInterface(export.signature)
            interfaces[export.name] = interface
            return interface
        }
    }
}
