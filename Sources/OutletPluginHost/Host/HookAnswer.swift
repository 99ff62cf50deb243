/// What a hook has answered, or will.
enum HookAnswer<Value: Sendable>: Sendable {
    /// It has answered.
    case given(Value)
    /// The plugin has promised an answer, or the hook waits for its turn; and what the answer means.
    case follows(Completion, meaning: @Sendable (Completion.Answer) -> Value)

    /// - Parameter answer: What ``PluginInstance/ask(_:about:settled:_:)`` returned for `token`.
    init(
        _ answer: Completion.Answer?, of token: Completion,
        meaning: @escaping @Sendable (Completion.Answer) -> Value
    ) {
        self = answer.map { .given(meaning($0)) } ?? .follows(token, meaning: meaning)
    }

    /// Hands the answer over.
    ///
    /// - Parameter completion: Called once, never on the plugin's stack; before this returns where the
    ///   answer is there.
    /// - Returns: What tells the plugin that nobody waits for its answer any more; `nil` when it has answered.
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
