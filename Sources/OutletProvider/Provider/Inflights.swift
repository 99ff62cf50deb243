import OutletSession

/// Requests under way that others, who ask for the same, wait for as well.
final class Inflights: Sendable {
    /// What becomes of somebody who asks.
    enum Place {
        /// Nobody asks for the same: the request is to be made, and cancelled by this token.
        case first(CancellableToken)
        /// The answer to another's request is waited for.
        case waiting
        /// Such an answer is being handed out, too late to wait for it.
        case none
    }

    private struct Waiting: Sendable {
        let number: Int
        let completion: Completion
    }

    private struct Flight: Sendable {
        let token = CancellableToken()
        var waiting: [Waiting] = []
        var isEnding = false
    }

    private struct State: Sendable {
        var flights: [Endpoint: Flight] = [:]
        var count = 0
    }

    private let state = Lock(State())

    /// Who waits for what.
    var completions: [Endpoint: [Completion]] {
        state.withLock { $0.flights.mapValues { $0.waiting.map(\.completion) } }
    }

    /// Somebody asks; `token` takes one who waits out again, and the last one cancels the request.
    func enter(
        _ endpoint: Endpoint, _ token: CancellableToken, completion: @escaping Completion
    ) -> Place {
        let (place, number) = state.withLock { state -> (Place, Int) in
            var flight = state.flights[endpoint] ?? Flight()
            guard !flight.isEnding else { return (.none, 0) }
            state.count += 1
            let place = flight.waiting.isEmpty ? Place.first(flight.token) : .waiting
            flight.waiting.append(Waiting(number: state.count, completion: completion))
            state.flights[endpoint] = flight
            return (place, state.count)
        }
        if case .none = place { return place }
        token.onCancel { self.leave(endpoint, number) }
        return place
    }

    private func leave(_ endpoint: Endpoint, _ number: Int) {
        let (token, completion) = state.withLock { state -> (CancellableToken?, Completion?) in
            guard let flight = state.flights[endpoint], !flight.isEnding,
                let index = flight.waiting.firstIndex(where: { $0.number == number })
            else { return (nil, nil) }
            guard flight.waiting.count > 1 else { return (flight.token, nil) }
            return (nil, state.flights[endpoint]?.waiting.remove(at: index).completion)
        }
        token?.cancel()
        completion?(.failure(.underlying(SessionError.explicitlyCancelled, nil)))
    }

    /// Hands the answer to all who wait, in the order they came.
    func end(_ endpoint: Endpoint, with result: Result<Response, ProviderError>) {
        let waiting = state.withLock { state in
            state.flights[endpoint]?.isEnding = true
            return state.flights[endpoint]?.waiting ?? []
        }
        for one in waiting { one.completion(result) }
        state.withLock { $0.flights[endpoint] = nil }
    }
}
