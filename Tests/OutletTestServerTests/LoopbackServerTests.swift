import FoundationEssentials
import OutletTestServer
import OutletTestSupport
import Testing

@Suite struct `Loopback server` {
    let server: LoopbackServer

    init() throws {
        server = try LoopbackServer.start()
    }

    private func ask(
        _ target: String, method: String = "GET", headers: [String] = [], body: String = ""
    ) async throws -> HTTPExchange {
        try await HTTPExchange.perform(
            target, method: method, headers: headers, body: body, at: .loopback(port: server.port))
    }

    @Test func `a port in use is an error`() throws {
        #expect(throws: LoopbackServerError.cannotListen(port: server.port, errno: 98)) {
            try LoopbackServer.start(port: server.port)
        }
        let error = LoopbackServerError.cannotListen(port: 80, errno: 13)
        #expect(
            error.description
                == "loopback server: cannot listen on 127.0.0.1:80: Permission denied")
    }

    @Test func `the response to an unknown path is 404 with JSON`() async throws {
        let response = try await ask("/nothing/here")
        #expect(response.status == 404)
        #expect(
            response.text == #"{"error":"path: nothing is served there: /nothing/here"}"# + "\n")
    }

    @Test func `the response to an unsupported method is 405 with Allow`() async throws {
        let response = try await ask("/get", method: "POST")
        #expect(response.status == 405)
        #expect(response.values(of: "Allow") == ["GET, HEAD, OPTIONS"])
        let options = try await ask("/get", method: "OPTIONS")
        #expect(options.status == 200)
        #expect(options.values(of: "allow") == ["GET, HEAD, OPTIONS"])
    }

    @Test(arguments: [
        "/status/99", "/status/abc", "/status/", "/bytes/-1", "/bytes/x", "/stream/1e9",
        "/delay/-1",
        "/delay/nan", "/delay/inf", "/redirect/0", "/redirect-to", "/basic-auth/a", "/hold/0",
        "/drip?numbytes=-1", "/redirect-to?url=/&status_code=200", "/etag",
        "/response-headers?bad%0aname=1",
    ])
    func `the response to an invalid request is 400 with an error`(target: String) async throws {
        let response = try await ask(target)
        #expect(response.status == 400)
        #expect(response.text.hasPrefix(#"{"error":"#))
    }

    @Test func `get returns the received request with original names and order`() async throws {
        let response = try await ask(
            "/get?b=1&a=x%20y+z&b=2&empty", headers: ["x-Odd-CASE: 1", "Accept: a", "accept: b"])
        let expected =
            #"{"args":{"b":["1","2"],"a":"x y z","empty":""},"headers":{"Host":"localhost","#
            + #""Connection":"close","x-Odd-CASE":"1","Accept":"a,b"},"method":"GET","#
            + #""origin":"127.0.0.1","url":"http://localhost/get?b=1&a=x%20y+z&b=2&empty"}"# + "\n"
        #expect(response.status == 200)
        #expect(response.text == expected)
        #expect(response.values(of: "Content-Type") == ["application/json"])
    }

    @Test func `unstable fails the given number of times for each key`() async throws {
        for _ in 0..<2 {
            #expect(try await ask("/unstable/2?key=a").status == 503)
            #expect(try await ask("/unstable/2?key=b").status == 503)
            #expect(try await ask("/unstable/2?key=a").status == 503)
            #expect(try await ask("/unstable/2?key=a").status == 200)
            #expect(try await ask("/unstable/2?key=b").status == 503)
            #expect(try await ask("/unstable/2?key=b").status == 200)
        }
        #expect(try await ask("/unstable/0").status == 400)
    }

    @Test func `the response to HEAD has the length of GET and no body`() async throws {
        let get = try await ask("/bytes/1000")
        let head = try await ask("/bytes/1000", method: "HEAD")
        #expect(head.status == 200)
        #expect(head.values(of: "Content-Length") == get.values(of: "Content-Length"))
        #expect(head.body.isEmpty)
    }

    @Test func `post distinguishes JSON, text and forms`() async throws {
        let json = try await ask(
            "/post", method: "POST", body: #"{"z":[1,2.5,null,true],"a":"é\n"}"#)
        #expect(json.text.contains(#""data":"{\"z\":[1,2.5,null,true],\"a\":\"é\\n\"}""#))
        #expect(json.text.contains(#""json":{"a":"é\u000a","z":[1,2.5,null,true]}"#))

        let text = try await ask("/put", method: "PUT", body: "plain")
        #expect(text.text.contains(#""data":"plain","files":{},"form":{},"json":null"#))

        let form = try await ask(
            "/patch", method: "PATCH", headers: ["Content-Type: application/x-www-form-urlencoded"],
            body: "a=1&b=x%26y&a=2")
        #expect(form.text.contains(#""data":"","files":{},"form":{"a":["1","2"],"b":"x&y"}"#))
    }

    @Test func `post returns the files of multipart bodies`() async throws {
        let body = [
            "--cut", #"Content-Disposition: form-data; name="note""#, "", "hello", "--cut",
            #"Content-Disposition: form-data; name="file"; filename="a.txt""#, "", "contents",
            "--cut--", "",
        ].joined(separator: "\r\n")
        let response = try await ask(
            "/anything", method: "POST",
            headers: ["Content-Type: multipart/form-data; boundary=cut"],
            body: body)
        #expect(response.text.contains(#""files":{"file":"contents"},"form":{"note":"hello"}"#))
    }

    @Test(arguments: [200, 204, 304, 404, 418, 500, 599])
    func `status returns the requested status code`(code: Int) async throws {
        #expect(try await ask("/status/\(code),201").status == code)
    }

    @Test func `bytes returns the same bytes each time`() async throws {
        let response = try await ask("/bytes/100000")
        #expect(response.body == LoopbackServer.bytes(100_000))
        #expect(response.values(of: "Content-Length") == ["100000"])
    }

    @Test func `stream returns lines of JSON with chunked encoding`() async throws {
        let response = try await ask("/stream/3")
        #expect(response.values(of: "Transfer-Encoding") == ["chunked"])
        let lines = response.text.split(separator: "\n")
        #expect(lines.count == 3)
        for (number, line) in lines.enumerated() {
            #expect(line.hasPrefix(#"{"id":\#(number),"args":"#))
        }
    }

    @Test func `redirects count down and end at get`() async throws {
        #expect(try await ask("/redirect/2").values(of: "Location") == ["/redirect/1"])
        #expect(try await ask("/redirect/1").values(of: "Location") == ["/get"])
        let other = try await ask("/redirect-to?url=http%3A%2F%2Fa%2Fb&status_code=307")
        #expect(other.status == 307)
        #expect(other.values(of: "Location") == ["http://a/b"])
    }

    @Test func `basic-auth requires the credentials in its path`() async throws {
        let denied = try await ask(
            "/basic-auth/user/pa%20ss", headers: ["Authorization: Basic eA=="])
        #expect(denied.status == 401)
        #expect(denied.values(of: "WWW-Authenticate") == [#"Basic realm="Outlet""#])
        let credentials = Data("user:pa ss".utf8).base64EncodedString()
        let allowed = try await ask(
            "/basic-auth/user/pa%20ss", headers: ["authorization: bASIC \(credentials)"])
        #expect(allowed.text == #"{"authenticated":true,"user":"user"}"# + "\n")
    }

    @Test func `bearer requires a token`() async throws {
        let denied = try await ask("/bearer", headers: ["Authorization: Basic eA=="])
        #expect(denied.status == 401)
        #expect(denied.values(of: "WWW-Authenticate") == ["Bearer"])
        let allowed = try await ask("/bearer", headers: ["Authorization: Bearer t0ken"])
        #expect(allowed.text == #"{"authenticated":true,"token":"t0ken"}"# + "\n")
    }

    @Test func `the program gzip can decompress the gzip body`() async throws {
        let response = try await ask("/gzip")
        #expect(response.values(of: "Content-Encoding") == ["gzip"])
        let unpacked = try await Program.run("/bin/gzip", ["-dc"], standardInput: response.body)
        #expect(unpacked.exitCode == 0)
        #expect(unpacked.output.hasPrefix(#"{"gzipped":true,"#))
    }

    @Test func `etag evaluates If-Match and If-None-Match`() async throws {
        #expect(try await ask("/etag/one").values(of: "ETag") == [#""one""#])
        let same = try await ask("/etag/one", headers: [#"If-None-Match: "zero", "one""#])
        #expect(same.status == 304)
        #expect(try await ask("/etag/one", headers: [#"If-None-Match: "two""#]).status == 200)
        #expect(try await ask("/etag/one", headers: [#"If-Match: "two""#]).status == 412)
        #expect(try await ask("/etag/one", headers: ["If-Match: *"]).status == 200)
    }

    @Test func `cookies are set, read and deleted`() async throws {
        let set = try await ask("/cookies/set?a=1&b=2")
        #expect(set.status == 302)
        #expect(set.values(of: "Set-Cookie") == ["a=1; Path=/", "b=2; Path=/"])
        let read = try await ask("/cookies", headers: ["Cookie: a=1; b=x=y"])
        #expect(read.text == #"{"cookies":{"a":"1","b":"x=y"}}"# + "\n")
        let deleted = try await ask("/cookies/delete?a")
        #expect(deleted.values(of: "Set-Cookie") == ["a=; Max-Age=0; Path=/"])
    }

    @Test func `response headers may be repeated and keep their case`() async throws {
        let response = try await ask("/response-headers?X-one=1&X-one=2&Content-Type=text/plain")
        #expect(response.values(of: "X-One") == ["1", "2"])
        #expect(response.head.contains("\r\nX-one: 1\r\n"))
        #expect(response.values(of: "Content-Type") == ["text/plain"])
    }

    @Test func `drip sends the complete body`() async throws {
        let response = try await ask("/drip?duration=0.01&numbytes=5&delay=0&code=201")
        #expect(response.status == 201)
        #expect(response.text == "*****")
        #expect(response.values(of: "Content-Length") == ["5"])
    }

    @Test func `100 delayed requests run at the same time`() async throws {
        let port = server.port
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<100 {
                group.addTask {
                    let target = "/delay/0.05?number=\(number)"
                    let response = try await HTTPExchange.perform(target, at: .loopback(port: port))
                    #expect(response.text.contains(#""number":"\#(number)""#))
                    return response.status
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses == Array(repeating: 200, count: 100))
    }

    @Test func `hold responds only after the last request has arrived`() async throws {
        let gate = try Gate()
        let early = try StreamSocket(connectingTo: .loopback(port: server.port), gate: gate)
        early.send("GET /hold/2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        let last = try await ask("/hold/2")
        #expect(last.body == LoopbackServer.bytes(1024))
        let response = String(decoding: try await offPool { early.receiveAll() }, as: UTF8.self)
        #expect(response.hasPrefix("HTTP/1.1 200 OK\r\n"))
    }

    @Test func `one connection serves several requests`() async throws {
        let socket = try StreamSocket(
            connectingTo: .loopback(port: server.port), gate: try Gate())
        for _ in 0..<3 {
            let response = try await offPool {
                socket.send("GET /bytes/3 HTTP/1.1\r\nHost: a\r\n\r\n")
                var response: [UInt8] = []
                while !response.suffix(3).elementsEqual(LoopbackServer.bytes(3)),
                    let piece = socket.receive()
                {
                    response += piece
                }
                return response
            }
            #expect(response.starts(with: "HTTP/1.1 200 OK\r\n".utf8))
        }
    }

    @Test func `stop closes waiting connections and may be called again`() async throws {
        let gate = try Gate()
        let sockets = try (0..<60).map { number in
            let socket = try StreamSocket(connectingTo: .loopback(port: server.port), gate: gate)
            let target = ["/delay/3600", "/hold/1000", "/drip?delay=0&duration=3600"][number % 3]
            socket.send("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n")
            return socket
        }
        // Connections are accepted in order: once this one is answered, all of them wait.
        #expect(try await ask("/status/200").status == 200)
        server.stop()
        server.stop()
        for socket in sockets { _ = try await offPool { socket.receiveAll() } }
    }
}
