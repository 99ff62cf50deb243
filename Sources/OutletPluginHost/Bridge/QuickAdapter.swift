import OutletHTTP
import OutletSession

/// The hook of a plugin that never blocks: it has answered when it returns, or has promised to.
struct QuickAdapter: SynchronousRequestAdapter {
    let adapter: any AbandonableAdapter

    func adapt(_ request: HTTPRequest, using state: RequestAdapterState) throws -> HTTPRequest {
        let answer = LaterAnswer<Result<HTTPRequest, any Error>>()
        let abandon = adapter.beginAdapting(request, using: state) { answer.give($0) }
        guard let result = answer.given else {
            throw AnswerFollows { completion in
                answer.whenGiven(completion)
                return abandon
            }
        }
        return try result.get()
    }
}
