public import COutletPlugin

/// A plugin with functions that the program calls by name.
public protocol FunctionExporting: Plugin {
    /// The functions; read once, when the library is loaded.
    static var exports: [Export] { get }
}

/// A function that the program calls by name.
///
/// It is a C function without captures; ``Export/plugin(_:as:)`` returns the instance it is called
/// on. The signature for the host is derived from the type of the function, except for
/// ``init(_:signature:summary:function:)``.
///
/// Thread: the function may be called on any thread, at the same time as hooks and other functions
/// of the instance.
public struct Export: Sendable {
    /// `(text) -> text`; returns the status of ``Export/answer(_:_:_:)`` or
    /// ``Export/fail(_:_:_:)``.
    public typealias TextFunction =
        @convention(c) (OpaquePointer?, outlet_call, outlet_view, outlet_sink) -> outlet_status
    /// `() -> integer`.
    public typealias CountFunction = @convention(c) (OpaquePointer?) -> Int64
    /// `(integer) -> integer`.
    public typealias IntegerFunction = @convention(c) (OpaquePointer?, Int64) -> Int64
    /// `(number) -> number`.
    public typealias NumberFunction = @convention(c) (OpaquePointer?, Double) -> Double
    /// A function of any type, for ``init(_:signature:summary:function:)``.
    public typealias AnyFunction = @convention(c) () -> Void

    let name: String
    let signature: String
    let summary: String
    let function: AnyFunction

    /// Offers a function of any type, such as one that takes bytes, or calls a function of its
    /// caller.
    ///
    /// ```swift
    /// let visit: @convention(c) (OpaquePointer?, @convention(c) (outlet_view) -> UInt8) -> Void = {
    ///     instance, visitor in
    ///     _ = visitor(outlet_text("red"))
    /// }
    /// let export = Export(
    ///     "visit", signature: "v(f{b(s)})",
    ///     function: unsafeBitCast(visit, to: Export.AnyFunction.self))
    /// ```
    ///
    /// - Parameters:
    ///   - name: The name by which it is called: letters, digits, `-` and `_`; unique in the
    ///     plugin.
    ///   - signature: The types of its result and its arguments, in the letters of
    ///     `outlet/export.h`. The instance comes before the arguments, and has no letter. Nothing
    ///     compares this with the function: with a wrong one the behaviour is undefined.
    ///   - summary: One line that describes it; may be empty.
    ///   - function: The C function, cast to this type.
    public init(
        _ name: String, signature: String, summary: String = "", function: AnyFunction
    ) {
        self.name = name
        self.signature = signature
        self.summary = summary
        self.function = function
    }

    /// Offers a function from text to text.
    ///
    /// - Parameters:
    ///   - name: The name by which it is called: letters, digits, `-` and `_`; unique in the
    ///     plugin.
    ///   - summary: One line that describes it; may be empty.
    ///   - function: The function; receives instance, call, text and the sink for
    ///     ``Export/answer(_:_:_:)``.
    public init(_ name: String, summary: String = "", text function: TextFunction) {
        self.init(name, "e(cso)", summary, function)
    }

    /// Offers a function without arguments that returns an integer.
    ///
    /// - Parameters:
    ///   - name: The name by which it is called: letters, digits, `-` and `_`; unique in the
    ///     plugin.
    ///   - summary: One line that describes it; may be empty.
    ///   - function: The function; receives the instance.
    public init(_ name: String, summary: String = "", count function: CountFunction) {
        self.init(name, "l()", summary, function)
    }

    /// Offers a function from an integer to an integer.
    ///
    /// - Parameters:
    ///   - name: The name by which it is called: letters, digits, `-` and `_`; unique in the
    ///     plugin.
    ///   - summary: One line that describes it; may be empty.
    ///   - function: The function; receives instance and argument.
    public init(_ name: String, summary: String = "", integer function: IntegerFunction) {
        self.init(name, "l(l)", summary, function)
    }

    /// Offers a function from a number to a number.
    ///
    /// - Parameters:
    ///   - name: The name by which it is called: letters, digits, `-` and `_`; unique in the
    ///     plugin.
    ///   - summary: One line that describes it; may be empty.
    ///   - function: The function; receives instance and argument.
    public init(_ name: String, summary: String = "", number function: NumberFunction) {
        self.init(name, "d(d)", summary, function)
    }

    /// - Parameter function: A C function of any type: the host calls it by its signature.
    private init<Function>(
        _ name: String, _ signature: String, _ summary: String, _ function: Function
    ) {
        self.init(
            name, signature: signature, summary: summary,
            function: unsafeBitCast(function, to: AnyFunction.self))
    }

    /// Returns the plugin on which a function was called.
    ///
    /// - Parameters:
    ///   - instance: The first argument of the function, as it was received.
    ///   - type: The type of the plugin.
    /// - Returns: The plugin; `nil` if `instance` is null or of another type.
    public static func plugin<P: Plugin>(_ instance: OpaquePointer?, as type: P.Type) -> P? {
        Instance.at(instance)?.plugin as? P
    }

    /// Returns a copy of a text argument; bytes that are not UTF-8 are replaced by U+FFFD.
    ///
    /// - Parameter view: An argument of a ``TextFunction``; valid until that function returns.
    public static func text(_ view: outlet_view) -> String { view.string }

    /// Returns a copy of an argument that is bytes.
    ///
    /// - Parameter view: An argument of a function; valid until that function returns.
    public static func bytes(_ view: outlet_view) -> [UInt8] { view.bytes }

    /// Writes the result of a ``TextFunction``.
    ///
    /// - Parameters:
    ///   - text: The result; several calls append, up to 64 MiB in all.
    ///   - instance: The first argument of the function.
    ///   - sink: The last argument of the function.
    /// - Returns: The status that the function must return: `OUTLET_OK`, `OUTLET_E_ARGUMENT` above
    ///   the limit, `OUTLET_E_STALE` when the call is over.
    public static func answer(
        _ text: String, _ instance: OpaquePointer?, _ sink: outlet_sink
    ) -> outlet_status {
        answer(bytes: Array(text.utf8), instance, sink)
    }

    /// Writes the result of a function that returns bytes.
    ///
    /// - Parameters:
    ///   - bytes: The result; several calls append, up to 64 MiB in all.
    ///   - instance: The first argument of the function.
    ///   - sink: The argument of the function for the letter `o` or `O`.
    /// - Returns: The status that the function must return, as of ``answer(_:_:_:)``.
    public static func answer(
        bytes: [UInt8], _ instance: OpaquePointer?, _ sink: outlet_sink
    ) -> outlet_status {
        guard let host = Instance.at(instance)?.host else { return OUTLET_E_STALE }
        return withView(bytes) { host.table.pointee.sink_write(host.table, sink, $0) }
    }

    /// Reports that a ``TextFunction`` failed.
    ///
    /// - Parameters:
    ///   - error: The reason: code and message of a ``PluginError``, else the error's text.
    ///   - instance: The first argument of the function.
    ///   - call: The second argument of the function.
    /// - Returns: The status that the function must return; always negative.
    public static func fail(
        _ error: any Error, _ instance: OpaquePointer?, _ call: outlet_call
    ) -> outlet_status {
        Instance.at(instance)?.host.fail(call, error) ?? OUTLET_E_FAILED
    }
}
