/// The answer of a hook, or the completion that will deliver it.
enum HookAnswer<Value: Sendable>: Sendable {
    /// The answer.
    case given(Value)
    /// The answer follows, because the hook has not been called yet or returned `OUTLET_PENDING`;
    /// `meaning` converts it.
    case follows(Completion, meaning: @Sendable (Completion.Answer) -> Value)

    /// Wraps the result of ``PluginInstance/ask(_:settled:_:)`` for a service.
    ///
    /// - Parameters:
    ///   - answer: The result of `ask`; `nil` if the answer follows.
    ///   - token: The completion that was passed to `ask`.
    ///   - meaning: Converts the answer; called once.
    init(
        _ answer: Completion.Answer?, of token: Completion,
        meaning: @escaping @Sendable (Completion.Answer) -> Value
    ) {
        self = answer.map { .given(meaning($0)) } ?? .follows(token, meaning: meaning)
    }

    /// Wraps the answer of a hook of a request.
    ///
    /// - Parameters:
    ///   - asked: The answer.
    ///   - meaning: Converts the answer; called once. Receives the hook's completion, or `nil` if
    ///     the plugin has used no handle of it.
    init(
        _ asked: PluginInstance.Asked,
        meaning: @escaping @Sendable (Completion.Answer, RequestHook?) -> Value
    ) {
        switch asked {
        case .given(let answer, let token): self = .given(meaning(answer, token))
        case .follows(let token): self = .follows(token) { meaning($0, token) }
        }
    }

    /// Delivers the answer.
    ///
    /// - Parameter completion: Called once, on any thread but never inside a call of the plugin;
    ///   before this function returns if the hook has answered.
    /// - Returns: A closure that abandons the answer, so that the plugin's `cancel` is called;
    ///   `nil` if the hook has answered.
    @discardableResult
    func deliver(to completion: @escaping @Sendable (Value) -> Void) -> (@Sendable () -> Void)? {
        switch self {
        case .given(let value):
            completion(value)
            return nil
        case .follows(let token, let meaning):
            token.whenAnswered { completion(meaning($0)) }
            guard !token.isCancelled else { return nil }
            return { token.abandon() }
        }
    }
}
