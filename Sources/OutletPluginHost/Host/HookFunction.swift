import COutletPlugin

/// A function of a plugin, with what it is called with beside the instance, the call and the completion.
///
/// A value for each kind, because a closure around a function takes an allocation for each hook.
enum HookFunction: Sendable {
    /// The shape of `adapt`, `prepare` and `finalize`.
    typealias Change =
        @convention(c) (OpaquePointer, outlet_call, outlet_request, outlet_completion)
        -> outlet_status
    /// The shape of `will_send` and `request_done`.
    typealias SeeRequest = @convention(c) (OpaquePointer, outlet_call, outlet_request) -> Void
    /// The shape of `did_receive`.
    typealias SeeResponse =
        @convention(c) (OpaquePointer, outlet_call, outlet_request, outlet_response) -> Void
    /// The shape of `process`.
    typealias Process =
        @convention(c) (
            OpaquePointer, outlet_call, outlet_request, outlet_response, outlet_completion
        ) -> outlet_status

    case change(Change)
    case seeRequest(SeeRequest)
    case seeResponse(SeeResponse)
    case process(Process)
    /// Anything else.
    case other(
        @Sendable (OpaquePointer, outlet_call, outlet_completion) -> outlet_status)

    /// Calls it.
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
