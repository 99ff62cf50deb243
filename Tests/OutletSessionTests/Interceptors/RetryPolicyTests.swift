import FoundationEssentials
import OutletHTTP
import OutletTesting
import Testing

@testable import OutletSession
@testable import OutletTransport

/// Returns the same number at each call.
private struct Fixed: RandomNumberGenerator {
    let value: UInt64
    mutating func next() -> UInt64 { value }
}

@Suite struct RetryPolicyTests {
    let address = "http://example.test/get"
    /// Returns a policy without delays.
    private func quick(
        statuses: Set<Int> = RetryPolicy.defaultRetryableHTTPStatusCodes,
        budget: RetryBudget? = nil
    ) -> RetryPolicy {
        RetryPolicy(
            exponentialBackoffScale: 0, retryableHTTPStatusCodes: statuses, budget: budget)
    }

    /// Returns the policy's decision about a request after the stub's response.
    ///
    /// - Parameters:
    ///   - policy: The policy.
    ///   - method: The request's method.
    ///   - answer: The stub's response.
    /// - Returns: The decision; `nil` if the request succeeded.
    private func verdict(
        _ policy: RetryPolicy, method: HTTPMethod = .get, on answer: StubAnswer
    ) async -> RetryResult? {
        let session = Session(transport: StubTransport { _ in answer })
        let request = session.request(address, method: method).validate()
        let response = await request.serializingUnserialized().response
        guard let error = response.error else { return nil }
        return await withCheckedContinuation { continuation in
            policy.retry(request, for: session, dueTo: error) { continuation.resume(returning: $0) }
        }
    }

    private func delay(_ result: RetryResult?) -> TimeInterval? {
        guard case .retryWithDelay(let delay)? = result else { return nil }
        return delay
    }

    @Test func `the defaults are those of Alamofire`() {
        let policy = RetryPolicy()
        #expect(policy.retryLimit == 2)
        #expect(policy.exponentialBackoffBase == 2)
        #expect(policy.exponentialBackoffScale == 0.5)
        #expect(policy.retryableHTTPMethods == [.delete, .get, .head, .options, .put, .trace])
        #expect(policy.retryableHTTPStatusCodes == [408, 500, 502, 503, 504])
        #expect(policy.retryableURLErrorCodes.contains(.networkConnectionLost))
        #expect(!policy.retryableURLErrorCodes.contains(.serverCertificateUntrusted))
        #expect(RetryPolicy(exponentialBackoffBase: 0).exponentialBackoffBase == 2)
    }

    @Test func `a request is retried to the limit, and fails with its own error`() async {
        let transport = StubTransport { _ in .status(503) }
        let session = Session(transport: transport, interceptor: quick())
        let request = session.request(address).validate()
        let response = await request.serializingUnserialized().response
        #expect(response.error?.responseCode == 503)
        #expect(transport.requests.count == 3)
        #expect(request.retryCount == 2)
    }

    @Test(arguments: [
        (HTTPMethod.get, 503, true), (.put, 500, true), (.post, 503, false),
        (.patch, 503, false), (.get, 404, false), (.get, 501, false), (.trace, 408, true),
    ])
    func `method and status decide about a retry`(method: HTTPMethod, status: Int, isRetried: Bool)
        async
    {
        let result = await verdict(RetryPolicy(), method: method, on: .status(status))
        #expect((delay(result) != nil) == isRetried)
    }

    @Test(arguments: [
        (TransferError.Code.timedOut, true), (.networkConnectionLost, true),
        (.cannotFindHost, true), (.serverCertificateUntrusted, false), (.badURL, false),
        (.cancelled, false), (.serverCertificateNotYetValid, true), (.callIsActive, true),
        (.downloadDecodingFailedMidStream, true), (.cannotDecodeRawData, false),
    ])
    func `the code of a transfer error decides about a retry`(
        code: TransferError.Code, isRetried: Bool
    ) async {
        let answer = StubAnswer.failure(TransferError(code: code, reason: "told to"))
        #expect((delay(await verdict(RetryPolicy(), on: answer)) != nil) == isRetried)
    }

    @Test func `ConnectionLostRetryPolicy retries only a lost connection`() async {
        let lost = StubAnswer.failure(TransferError(code: .networkConnectionLost, reason: "lost"))
        let late = StubAnswer.failure(TransferError(code: .timedOut, reason: "late"))
        let policy = ConnectionLostRetryPolicy()
        #expect(delay(await verdict(policy, on: lost)) == 0.5)
        #expect(delay(await verdict(policy, on: late)) == nil)
        #expect(delay(await verdict(policy, on: .status(503))) == nil)
    }

    @Test func `the delay doubles up to its limit`() {
        let backoff = RetryBackoff(maximumDelay: 3)
        var generator = SystemRandomNumberGenerator()
        let delays = (0..<6).map { backoff.delay(retryCount: $0, using: &generator) }
        #expect(delays == [0.5, 1, 2, 3, 3, 3])
        let unbounded = RetryBackoff().delay(retryCount: 1 << 20, using: &generator)
        #expect(unbounded.isFinite)
    }

    @Test func `jitter reduces the delay by up to half, or up to all`() {
        var low = Fixed(value: 0)
        var middle = Fixed(value: 1 << 52)
        let equal = RetryBackoff(scale: 8, jitter: .equal)
        let full = RetryBackoff(scale: 8, jitter: .full)
        #expect(equal.delay(retryCount: 0, using: &low) == 4)
        #expect(equal.delay(retryCount: 0, using: &middle) == 6)
        #expect(full.delay(retryCount: 0, using: &low) == 0)
        #expect(full.delay(retryCount: 0, using: &middle) == 4)
    }

    @Test(
        arguments: [
            ("7", 7), (" 120 ", 120), ("0", 0),
            ("Sun, 06 Nov 1994 08:49:47 GMT", 10), ("Sunday, 06-Nov-94 08:49:47 GMT", 10),
            ("Sun Nov  6 08:49:47 1994", 10), ("Sun, 06 Nov 1994 08:49:30 GMT", 0),
            ("-1", nil), ("soon", nil), ("", nil), ("Sun, 06 Nov 1994 25:49:30 GMT", nil),
        ] as [(String, TimeInterval?)])
    func `Retry-After is a number of seconds, or a date relative to the Date field`(
        value: String, expected: TimeInterval?
    ) {
        let response = HTTPResponse(
            url: nil, statusCode: 503,
            headers: ["Date": "Sun, 06 Nov 1994 08:49:37 GMT", "Retry-After": value])
        #expect(RetryAfter.delay(in: response, now: Date()) == expected)
    }

    @Test func `a Retry-After date without a Date field is relative to now`() {
        let now = Date(timeIntervalSince1970: 784_111_777)
        let response = HTTPResponse(
            url: nil, statusCode: 503, headers: ["Retry-After": "Sun, 06 Nov 1994 08:49:40 GMT"])
        #expect(RetryAfter.delay(in: response, now: now) == 3)
    }

    @Test func `Retry-After replaces the delay, unless it is too long or disabled`() async {
        let answer = StubAnswer.status(503, headers: ["Retry-After": "7"])
        #expect(delay(await verdict(RetryPolicy(), on: answer)) == 7)
        #expect(delay(await verdict(RetryPolicy(maximumRetryAfter: 6), on: answer)) == nil)
        #expect(delay(await verdict(RetryPolicy(maximumRetryAfter: 0), on: answer)) == 0.5)
    }

    @Test func `a budget limits retries and grows with requests and time`() {
        let budget = RetryBudget(ratio: 0.5, retriesPerSecond: 1, capacity: 2)
        let start: UInt64 = 1 << 62
        #expect(budget.withdraw(now: start))
        #expect(budget.withdraw(now: start))
        #expect(!budget.withdraw(now: start))
        budget.deposit(now: start)
        budget.deposit(now: start)
        #expect(budget.withdraw(now: start))
        #expect(!budget.withdraw(now: start))
        #expect(budget.withdraw(now: start + 1_000_000_000))
        #expect(!budget.withdraw(now: start))
    }

    @Test func `an empty budget ends the retries of all requests that share it`() async {
        let budget = RetryBudget(ratio: 0, retriesPerSecond: 0, capacity: 3)
        let transport = StubTransport { _ in .status(503) }
        let session = Session(transport: transport, interceptor: quick(budget: budget))
        for _ in 0..<4 {
            _ = await session.request(address).validate().serializingUnserialized().response
        }
        #expect(transport.requests.count == 4 + 3)
    }

    @Test func `only a request's first attempt adds to the budget`() async {
        let budget = RetryBudget(ratio: 1, retriesPerSecond: 0, capacity: 1)
        let policy = RetryPolicy(
            retryLimit: 5, exponentialBackoffScale: 0, budget: budget)
        let transport = StubTransport { _ in .status(503) }
        let session = Session(transport: transport, interceptor: policy)
        for _ in 0..<2 {
            _ = await session.request(address).validate().serializingUnserialized().response
        }
        // Only the next request's first attempt refunds the cost of a retry.
        #expect(transport.requests.count == 2 + 2)
    }

    @Test func `a request that another retrier has ended is not retried`() async {
        struct Stop: Error {}
        let stub = StubTransport { _ in .status(503) }
        let session = Session(
            transport: stub,
            interceptor: Interceptor(retriers: [
                Retrier { _, _, error, completion in
                    let isFinal = error.asSessionError?.isResponseValidationError != true
                    completion(isFinal ? .doNotRetry : .doNotRetryWithError(Stop()))
                }, quick(),
            ]))
        let response = await session.request(address).validate().serializingString().response
        #expect(stub.requests.count == 1)
        guard case .requestRetryFailed(let reason, let original)? = response.error else {
            Issue.record("\(String(describing: response.error))")
            return
        }
        #expect(reason is Stop)
        #expect(original.asSessionError?.isResponseValidationError == true)
    }

    @Test func `URLError codes are mapped to transfer error codes and back`() {
        for code in TransferError.Code.allCases {
            #expect(TransferError.Code(urlErrorCode: code.urlErrorCode) != nil)
        }
        #expect(TransferError.Code(urlErrorCode: -1001) == .timedOut)
        #expect(TransferError.Code(urlErrorCode: -1204) == .serverCertificateNotYetValid)
        #expect(TransferError.Code(urlErrorCode: -998) == nil)
        // Codes that `URLError` also has map to themselves; the others map to the nearest one.
        let own = TransferError.Code.allCases.filter { code in
            TransferError.Code(urlErrorCode: code.urlErrorCode) != code
        }
        #expect(
            Set(own) == [
                .badRequest, .proxyConnectionFailed, .tooManyOpenFiles, .transportClosed,
                .decompressionLimitExceeded, .headerFieldsExceedMaximum, .requestQueueFull,
                .addressNotAllowed, .badConfiguration, .refused,
            ])
    }
}
