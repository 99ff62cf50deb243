import COutletPlugin
import OutletHTTP
import OutletSession
import OutletTransport

/// An exported function with its prepared libffi call interface.
final class CallableFunction: Sendable {
    let export: PluginExport
    let name: String
    let code: outlet_function
    /// Whether its calls may overlap with others of the instance.
    let isCallableAnywhere: Bool
    /// The kinds of the arguments that the caller supplies.
    let parameters: [Signature.Kind]
    /// The call interface; `nil` if libffi does not support the signature on this machine.
    let interface: CallInterface?
    /// Whether the C result is the result, and no argument needs memory or a handle.
    let isPlain: Bool

    init(_ export: PluginExport) {
        self.export = export
        name = export.name
        code = export.function
        isCallableAnywhere = export.isCallableAnywhere
        parameters = export.signature.parameters
        interface = CallInterface(export.signature)
        isPlain = export.signature.isScalar && export.signature.result != .status
    }
}

/// Calls the functions that one plugin exports.
///
/// Thread: any.
final class FunctionCaller: Sendable {
    private let instance: PluginInstance
    /// A list instead of a dictionary: to compare a few names costs less than to hash one.
    private let functions: [CallableFunction]

    init(_ instance: PluginInstance) {
        self.instance = instance
        functions = instance.descriptor.exports.map { CallableFunction($0) }
    }

    /// Returns the function with a name.
    ///
    /// - Throws: ``PluginCallError/unknownFunction(_:plugin:known:)``.
    func function(named name: String) throws(PluginCallError) -> CallableFunction {
        guard let function = functions.first(where: { $0.name.hasSameBytes(as: name) })
        else {
            throw .unknownFunction(
                name, plugin: instance.id, known: instance.descriptor.exports.map(\.name))
        }
        return function
    }

    /// Calls a function with values, converted to the kinds of its parameters.
    ///
    /// - Parameters:
    ///   - function: The function.
    ///   - values: One value for each parameter.
    ///   - hasNullViews: Whether empty texts and bytes are passed with a null pointer.
    /// - Returns: The result; ``PluginValue/nothing`` for a status.
    /// - Throws: ``PluginCallError`` if the number of values is wrong, a value cannot be converted,
    ///   or the call fails.
    func call(
        _ function: CallableFunction, _ values: [PluginValue], hasNullViews: Bool = false
    ) throws(PluginCallError) -> PluginValue {
        guard values.count == function.parameters.count else {
            throw .wrongCount(declaration: declaration(function), given: values.count)
        }
        var areFitting = true
        for index in values.indices where !values[index].isOf(function.parameters[index]) {
            areFitting = false
        }
        return try perform(
            function, areFitting ? values : converted(values, for: function),
            hasNullViews: hasNullViews)
    }

    /// Returns values converted to the kinds of a function's parameters, of which there are as many.
    private func converted(
        _ values: [PluginValue], for function: CallableFunction
    ) throws(PluginCallError) -> [PluginValue] {
        var converted = values
        for (index, kind) in function.parameters.enumerated() {
            guard let fitting = values[index].converted(to: kind) else {
                throw .wrongType(
                    declaration: declaration(function), position: index + 1, wanted: kind.name,
                    given: "it is \(values[index].kind(unfitFor: kind)), "
                        + quoted(values[index].description))
            }
            converted[index] = fitting
        }
        return converted
    }

    /// Calls a function with texts, each parsed as the kind of its parameter.
    ///
    /// - Parameters:
    ///   - function: The function.
    ///   - texts: One text for each parameter.
    /// - Returns: The result; ``PluginValue/nothing`` for a status.
    /// - Throws: ``PluginCallError`` if the number of texts is wrong, a text cannot be parsed, or
    ///   the call fails.
    func call(
        _ function: CallableFunction, parsing texts: [String]
    ) throws(PluginCallError) -> PluginValue {
        guard texts.count == function.parameters.count else {
            throw .wrongCount(declaration: declaration(function), given: texts.count)
        }
        var values: [PluginValue] = []
        for (index, (text, kind)) in zip(texts, function.parameters).enumerated() {
            guard kind != .request, kind != .callback else {
                throw .notAText(
                    declaration: declaration(function), position: index + 1, wanted: kind.name)
            }
            guard let value = PluginValue(parsing: text, as: kind) else {
                throw .wrongType(
                    declaration: declaration(function), position: index + 1, wanted: kind.name,
                    given: quoted(text))
            }
            values.append(value)
        }
        return try perform(function, values)
    }

    /// The beginning of an argument in quotes, with secrets replaced: it may be a key.
    private func quoted(_ text: String) -> String {
        String(reflecting: Redaction.standard.text(text.shortened(toBytes: 64)))
    }

    private func declaration(_ function: CallableFunction) -> String {
        "\(instance.id).\(function.export.name)\(function.export.signature.declaration)"
    }

    /// Calls a function with values of the kinds of its parameters.
    private func perform(
        _ function: CallableFunction, _ values: [PluginValue], hasNullViews: Bool = false
    ) throws(PluginCallError) -> PluginValue {
        guard let interface = function.interface else {
            let text = "libffi cannot call \(function.export.signature) on this machine"
            throw .failed(failure(of: function, PluginReason(message: text)))
        }
        let stopwatch = Stopwatch(instance.owner.observer)
        guard function.isPlain else {
            return try performWithArguments(
                function, interface, values, hasNullViews: hasNullViews, stopwatch)
        }
        let returned = try run(function, interface, values)
        report(function, nil, stopwatch)
        return returned
    }

    /// Calls a function that needs memory or handles, or that returns a status.
    private func performWithArguments(
        _ function: CallableFunction, _ interface: CallInterface, _ values: [PluginValue],
        hasNullViews: Bool, _ stopwatch: Stopwatch
    ) throws(PluginCallError) -> PluginValue {
        let signature = function.export.signature
        var arguments: CallArguments?
        if !signature.isScalar {
            arguments = CallArguments(
                values, signature, for: instance, hasNullViews: hasNullViews)
            guard arguments != nil else {
                let text = "libffi makes no function pointers on this machine"
                throw .failed(failure(of: function, PluginReason(message: text)))
            }
        }
        defer { arguments?.end() }
        let returned = try run(function, interface, values, arguments)
        var error: PluginError?
        var text: String?
        let written = arguments?.written ?? []
        if signature.hasSink, signature.arguments.contains(.sink) {
            text = String(validating: written, as: UTF8.self)
            if text == nil {
                let fault = "its text is not UTF-8"
                instance.owner.recordViolation(.forbiddenValue, "\(function.export.name): \(fault)")
                error = failure(of: function, PluginReason(message: fault))
            }
        }
        if signature.result == .status, case .int(let status) = returned,
            status != Int64(OUTLET_OK)
        {
            let context = arguments?.context ?? CallContext(deadline: 0)
            let reason = context.reason(
                outlet_status(truncatingIfNeeded: status), after: arguments?.refusal)
            error = failure(of: function, reason)
        }
        if error == nil, let refusal = arguments?.refusal {
            instance.owner.recordViolation(.forbiddenValue, "\(function.export.name): \(refusal)")
            error = failure(of: function, PluginReason(message: refusal))
        }
        report(function, error, stopwatch, refusals: arguments?.refusals ?? [])
        if let wrong = arguments?.wrongCallback {
            throw .wrongType(
                declaration: declaration(function), position: wrong.position,
                wanted: wrong.wanted, given: wrong.given)
        }
        if let error { throw .failed(error) }
        if signature.hasSink { return text.map { .text($0) } ?? .bytes(written) }
        return signature.result == .status ? .nothing : returned
    }

    /// Calls the C function, after hooks that are running unless the plugin allows overlap.
    private func run(
        _ function: CallableFunction, _ interface: CallInterface, _ values: [PluginValue],
        _ arguments: CallArguments? = nil
    ) throws(PluginCallError) -> PluginValue {
        var call = ActiveCall(.call)
        do {
            return try instance.perform(
                &call, about: function.name, overlapping: function.isCallableAnywhere
            ) { pointer, _ in
                interface.call(function.code, on: pointer, values: values, arguments: arguments)
            }
        } catch {
            throw .failed(named(error, function))
        }
    }

    private func report(
        _ function: CallableFunction, _ error: PluginError?, _ stopwatch: Stopwatch,
        refusals: @autoclosure () -> [String] = []
    ) {
        stopwatch.report(
            instance.owner, .call, requestID: nil, effects: [function.name], failure: error,
            refusals: refusals())
    }

    private func failure(
        of function: CallableFunction, _ reason: PluginReason
    ) -> PluginError {
        named(instance.failure(of: .call, reason), function)
    }

    /// An error with the name of the function that failed.
    private func named(_ error: PluginError, _ function: CallableFunction) -> PluginError {
        var error = error
        error.function = function.export.name
        return error
    }
}
