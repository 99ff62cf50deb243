public import COutletPlugin

/// Offers functions that are called by name.
public protocol FunctionExporting: Plugin {
    /// The functions; asked for once, when the library is loaded.
    static var exports: [Export] { get }
}

/// A function that is called by name.
///
/// The function is a C function without captures; ``Export/plugin(_:as:)`` finds the instance.
/// The signature is derived from the function's type, so that the two cannot disagree.
public struct Export: Sendable {
    /// `(text) -> text`, or the status of a failure given to ``Export/fail(_:_:)``.
    public typealias TextFunction =
        @convention(c) (OpaquePointer?, outlet_call, outlet_view, outlet_sink) -> outlet_status
    /// `() -> integer`.
    public typealias CountFunction = @convention(c) (OpaquePointer?) -> Int64
    /// `(integer) -> integer`.
    public typealias IntegerFunction = @convention(c) (OpaquePointer?, Int64) -> Int64
    /// `(number) -> number`.
    public typealias NumberFunction = @convention(c) (OpaquePointer?, Double) -> Double

    let name: String
    let signature: String
    let summary: String
    let function: @convention(c) () -> Void

    /// Offers a function from text to text.
    public init(_ name: String, summary: String = "", text function: TextFunction) {
        self.init(
            name, "e(cso)", summary,
            unsafeBitCast(function, to: (@convention(c) () -> Void).self))
    }

    /// Offers a function that gives a whole number.
    public init(_ name: String, summary: String = "", count function: CountFunction) {
        self.init(
            name, "l()", summary,
            unsafeBitCast(function, to: (@convention(c) () -> Void).self))
    }

    /// Offers a function from a whole number to another.
    public init(_ name: String, summary: String = "", integer function: IntegerFunction) {
        self.init(
            name, "l(l)", summary,
            unsafeBitCast(function, to: (@convention(c) () -> Void).self))
    }

    /// Offers a function from a number to another.
    public init(_ name: String, summary: String = "", number function: NumberFunction) {
        self.init(
            name, "d(d)", summary,
            unsafeBitCast(function, to: (@convention(c) () -> Void).self))
    }

    private init(
        _ name: String, _ signature: String, _ summary: String,
        _ function: @escaping @convention(c) () -> Void
    ) {
        self.name = name
        self.signature = signature
        self.summary = summary
        self.function = function
    }

    /// The instance that a function was called on.
    ///
    /// - Returns: `nil` when the pointer is not an instance of that type.
    public static func plugin<P: Plugin>(_ instance: OpaquePointer?, as type: P.Type) -> P? {
        Instance.at(instance)?.plugin as? P
    }

    /// The text that a function was given.
    public static func text(_ view: outlet_view) -> String { view.string }

    /// Answers a call with text.
    public static func answer(
        _ text: String, _ instance: OpaquePointer?, _ sink: outlet_sink
    ) -> outlet_status {
        guard let host = Instance.at(instance)?.host else { return OUTLET_E_STALE }
        return withView(text) { host.table.pointee.sink_write(host.table, sink, $0) }
    }

    /// Answers a call with a failure.
    public static func fail(
        _ error: any Error, _ instance: OpaquePointer?, _ call: outlet_call
    ) -> outlet_status {
        Instance.at(instance)?.host.fail(call, error) ?? OUTLET_E_FAILED
    }
}
