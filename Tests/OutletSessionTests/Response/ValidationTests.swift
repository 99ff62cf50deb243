import FoundationEssentials
import OutletHTTP
import OutletSession
import OutletTestSupport
import OutletTesting
import OutletTransport
import Testing

@Suite struct ValidationTests {
    let address = "http://example.test/"

    private func session(_ answer: StubAnswer) -> Session {
        Session(transport: StubTransport { _ in answer })
    }

    private func answer(_ type: String?, _ body: String = "x", code: Int = 200) -> StubAnswer {
        StubAnswer(
            statusCode: code, headers: type.map { ["Content-Type": $0] } ?? [:],
            body: Data(body.utf8))
    }

    @Test(arguments: [
        (200, [200], true), (404, [200], false), (201, [], false), (299, Array(200..<300), true),
        (300, Array(200..<300), false),
    ])
    func `an unacceptable status is an error with its code`(
        code: Int, acceptable: [Int], isAccepted: Bool
    ) async {
        let session = session(.status(code))
        let response = await session.request(address).validate(statusCode: acceptable)
            .serializingUnserialized().response
        #expect(response.error?.responseCode == (isAccepted ? nil : code))
        #expect(response.error?.isResponseValidationError == (isAccepted ? nil : true))
        let download = await session.download(address).validate(statusCode: acceptable)
            .serializingDownloadedFileURL().response
        download.removeFiles()
        #expect(download.error?.responseCode == (isAccepted ? nil : code))
    }

    @Test(arguments: [
        ("application/json", "application/json", true),
        ("application/json", "application/json;charset=utf8", true),
        ("application/json", "application/json;q=0.8;charset=utf8", true),
        ("application/json; charset=utf-8", " application/json ", true),
        ("Application/JSON", "application/json", true),
        ("application/xml", "*/*", true), ("application/xml", "application/*", true),
        ("application/xml", "*/xml", true), ("application/xml", "application/octet-stream", false),
        ("application/xml", "text/*", false), ("application/xml", "*/json", false),
        ("application/xml", "xml", false), ("application/xml", "application/xml/more", false),
    ])
    func `a content type is matched with the acceptable types and wildcards`(
        type: String, acceptable: String, isAccepted: Bool
    )
        async
    {
        let session = session(answer(type))
        let response = await session.request(address).validate(contentType: [acceptable])
            .serializingUnserialized().response
        #expect((response.error == nil) == isAccepted)
        if !isAccepted {
            #expect(response.error?.acceptableContentTypes == [acceptable])
            #expect(response.error?.responseContentType == "application/xml")
        }
        let download = await session.download(address).validate(contentType: [acceptable])
            .serializingDownloadedFileURL().response
        download.removeFiles()
        #expect((download.error == nil) == isAccepted)
    }

    @Test func `without acceptable content types only an empty body is valid`() async {
        let nothing = session(.status(204))
        let empty = await nothing.request(address).validate(contentType: [])
            .serializingUnserialized().response
        #expect(empty.error == nil && empty.data == nil)
        let something = session(answer("application/xml"))
        let full = await something.request(address)
            .validate(contentType: []).serializingUnserialized().response
        #expect(full.error?.responseContentType == "application/xml")
        #expect(full.error?.acceptableContentTypes == [])
    }

    @Test(arguments: [nil, "nonsense"])
    func `a missing or invalid content type is accepted only by the full wildcard`(type: String?)
        async
    {
        let session = session(answer(type))
        let any = await session.request(address).validate(contentType: ["a/b", "*/*"])
            .serializingUnserialized().response
        #expect(any.error == nil)
        let some = await session.request(address).validate(contentType: ["b/c", "a/b"])
            .serializingUnserialized().response
        guard case .responseValidationFailed(.missingContentType(let types))? = some.error else {
            Issue.record("\(some)")
            return
        }
        #expect(types == ["a/b", "b/c"])
    }

    @Test(arguments: [
        (nil, 200, true), ("application/xml", 200, true), ("application/*", 200, true),
        ("text/html;q=0.9, application/xml, */*;q=0.1", 200, true), ("text/*", 200, false),
        (nil, 404, false),
    ])
    func `by default the status must be 2xx and the type must match the Accept field`(
        accept: String?, code: Int, isAccepted: Bool
    ) async {
        let session = session(answer("application/xml", code: code))
        let headers: HTTPHeaders? = accept.map { ["Accept": $0] }
        let response = await session.request(address, headers: headers).validate()
            .serializingUnserialized().response
        #expect((response.error == nil) == isAccepted)
        let download = await session.download(address, headers: headers).validate()
            .serializingDownloadedFileURL().response
        download.removeFiles()
        #expect((download.error == nil) == isAccepted)
    }

    @Test func `the first validation failure is reported, and the data is kept`() async {
        let session = session(answer("application/xml"))
        let status = await session.request(address).validate(statusCode: 400..<600)
            .validate(contentType: ["a/b"]).serializingString().response
        #expect(status.error?.responseCode == 200 && status.data == Data("x".utf8))
        let type = await session.request(address).validate(contentType: ["a/b"])
            .validate(statusCode: 400..<600).serializingString().response
        #expect(type.error?.responseContentType == "application/xml")
    }

    @Test func `a custom validator gets request, response and data, and its error is wrapped`()
        async
    {
        let session = session(answer("text/plain", "secret"))
        let kept = await session.request(address).validate { request, response, data in
            request?.url != nil && response.statusCode == 200 && data?.count == 6
                ? .success(()) : .failure(Refused())
        }.serializingString().response
        #expect(kept.value == "secret")
        let refused = await session.request(address).validate { _, _, _ in .failure(Refused()) }
            .serializingString().response
        guard case .responseValidationFailed(.customValidationFailed(let error))? = refused.error
        else {
            Issue.record("\(refused)")
            return
        }
        #expect(error is Refused && refused.data?.count == 6)
        let own = await session.request(address)
            .validate { _, _, _ in .failure(SessionError.explicitlyCancelled) }
            .serializingString().response
        #expect(own.error?.isExplicitlyCancelledError == true)
    }

    @Test func `a failed transfer is not validated`() async {
        let session = session(.failure(TransferErrors.lost))
        let response = await session.request(address).validate { _, _, _ in
            .failure(SessionError.explicitlyCancelled)
        }.serializingString().response
        #expect(response.error?.transferError?.code == .networkConnectionLost)
    }
}
