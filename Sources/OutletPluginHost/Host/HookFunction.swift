import COutletPlugin

/// A hook function of a plugin, by its C type.
///
/// An enum, because a closure around each function would need an allocation for each call.
enum HookFunction: Sendable {
    /// The type of `adapt`, `prepare` and `finalize`.
    typealias Change =
        @convention(c) (OpaquePointer, outlet_call, outlet_request, outlet_completion)
        -> outlet_status
    /// The type of `will_send` and `request_done`.
    typealias SeeRequest = @convention(c) (OpaquePointer, outlet_call, outlet_request) -> Void
    /// The type of `did_receive`.
    typealias SeeResponse =
        @convention(c) (OpaquePointer, outlet_call, outlet_request, outlet_response) -> Void
    /// The type of `process`.
    typealias Process =
        @convention(c) (
            OpaquePointer, outlet_call, outlet_request, outlet_response, outlet_completion
        ) -> outlet_status

    case change(Change)
    case seeRequest(SeeRequest)
    case seeResponse(SeeResponse)
    case process(Process)
    /// Any other hook.
    case other(
        @Sendable (OpaquePointer, outlet_call, outlet_completion) -> outlet_status)

    /// Calls the function; returns `OUTLET_OK` for functions without a result.
    func callAsFunction(
        _ instance: OpaquePointer, _ completion: outlet_completion
    ) -> outlet_status {
        let call = outlet_call(id: completion.id)
        switch self {
        case .change(let function):
            return function(instance, call, completion.request, completion)
        case .seeRequest(let function):
            function(instance, call, completion.request)
            return OUTLET_OK
        case .seeResponse(let function):
            function(instance, call, completion.request, completion.response)
            return OUTLET_OK
        case .process(let function):
            return function(instance, call, completion.request, completion.response, completion)
        case .other(let function): return function(instance, call, completion)
        }
    }
}
