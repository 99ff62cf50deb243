import OutletHTTP

/// An adapter in the order in which a request's adapters are called.
struct AdapterStep: Sendable {
    let adapter: any RequestAdapter
    /// Calls the adapter's synchronous form; `nil` if the adapter may answer later.
    ///
    /// A closure made once: to ask for the form, and to copy it, costs more than most calls of it.
    let adaptAtOnce:
        (@Sendable (_ request: HTTPRequest, _ state: RequestAdapterState) throws -> HTTPRequest)?

    init(_ adapter: any RequestAdapter) {
        self.adapter = adapter
        if let synchronous = adapter.synchronous {
            adaptAtOnce = { try synchronous.adapt($0, using: $1) }
        } else {
            adaptAtOnce = nil
        }
    }
}
