import FoundationEssentials
import Glibc
import Outlet

/// The validated command line of a request; stdin is not read yet.
struct RequestArguments: Sendable {
    /// The body that the command line defines.
    enum Body: Sendable, Equatable {
        /// The command line defines no body; stdin may contain one.
        case unsaid
        case json(JSONValue)
        case form(String)
        case raw(String)
        case file(path: String)
    }

    /// The method; `nil` means GET, or POST if there is a body.
    var method: HTTPMethod?
    var url: URL
    /// The header fields that the command line sets, in order.
    var headers = HTTPHeaders()
    /// The names of the fields that items remove.
    var unsetHeaders: [String] = []
    var body = Body.unsaid
    var isForm: Bool

    /// Interprets a parsed command line.
    ///
    /// - Parameters:
    ///   - arguments: The parsed command line.
    ///   - readFile: Returns the bytes of a file, for items with `@`.
    /// - Throws: ``CommandError`` with ``ExitCode/usage`` if the command line is wrong, and any
    ///   error of `readFile`.
    init(
        _ arguments: ParsedArguments, readFile: (String) throws(CommandError) -> [UInt8]
    ) throws(CommandError) {
        let line = try RequestLine(operands: arguments.operands)
        var items: [RequestItem] = []
        for text in line.items {
            items.append(
                try RequestItem(
                    parsing: text, number: items.count + 1, after: items.last, readFile: readFile))
        }
        method = line.method
        isForm = arguments.isOn(.form)
        let address = try AddressShorthand(
            line.url,
            query: items.compactMap { item in
                guard case .query(let name, let value) = item else { return nil }
                return (name, value)
            }, allowsFiles: arguments.isOn(.allowFile))
        url = address.url
        if let raw = arguments.value(.raw) { body = .raw(raw) }
        try takeCredential(arguments.value(.auth) ?? address.credential, arguments)
        try takeHeaders(items)
        try takeBody(items)
    }

    private mutating func takeCredential(
        _ text: String?, _ arguments: ParsedArguments
    ) throws(CommandError) {
        guard let text else {
            guard let type = arguments.value(.authType) else { return }
            throw .usage("--auth-type=\(type): there are no credentials", advice: "add --auth")
        }
        if arguments.value(.authType) == "bearer" {
            headers.update(.authorization(bearerToken: text))
            return
        }
        let (user, password) = text.cut(at: ":") ?? (text[...], "")
        let credential = Credential(user: String(user), password: String(password), scheme: .basic)
        if let fault = credential.fault { throw .usage("--auth: \(fault)") }
        headers.update(
            .authorization(username: credential.user, password: credential.password))
    }

    private mutating func takeHeaders(_ items: [RequestItem]) throws(CommandError) {
        var seen: Set<String> = []
        for item in items {
            switch item {
            case .header(let name, let value):
                // The first field of a name replaces the default one, further ones are added.
                if seen.insert(name.lowercasedASCII).inserted {
                    headers.update(name: name, value: value)
                } else {
                    headers.append(name: name, value: value)
                }
            case .emptyHeader(let name):
                seen.insert(name.lowercasedASCII)
                headers.update(name: name, value: "")
            case .unsetHeader(let name):
                guard name.lowercasedASCII != "host" else {
                    throw .usage("Host: cannot be left out: HTTP/1.1 requires it")
                }
                headers.remove(name: name)
                unsetHeaders.append(name)
            case .query, .text, .json, .bodyFile: break
            }
        }
        do throws(HTTPRequestError) {
            try HTTPRequest(url: url, method: method ?? .get, headers: headers).checkFields()
        } catch .reservedHeader(let name) where name.equalsIgnoringCase("Proxy-Authorization") {
            throw .usage(
                "header \(name): the server would get the credential, with or without a proxy",
                advice: "--proxy http://USER:PASSWORD@HOST:PORT sends it to the proxy")
        } catch {
            throw .usage("\(error)")
        }
    }

    private static let stdinAdvice = "leave it out: stdin is the body without an item"

    private mutating func takeBody(_ items: [RequestItem]) throws(CommandError) {
        var json: JSONValue?
        var pairs: [String] = []
        var path: String?
        for item in items {
            switch item {
            case .text(let name, let value):
                try takeField(name, .string(value), value, &json, &pairs)
            case .json(let name, let value):
                try takeField(name, value, value.stringValue ?? value.text(), &json, &pairs)
            case .bodyFile(let file):
                guard path == nil else { throw .usage("@\(file): a second body file") }
                guard !StandardInput.isNamed(by: file) else {
                    throw .usage("@\(file): is stdin", advice: Self.stdinAdvice)
                }
                guard FileManager.default.isReadableFile(atPath: file) else {
                    throw .usage(
                        "@\(file): no such file, or not readable",
                        advice: file == "-" ? Self.stdinAdvice : "")
                }
                var status = stat()
                let kind = stat(file, &status) == 0 ? status.st_mode & S_IFMT : 0
                guard kind != S_IFDIR else { throw .usage("@\(file): is a directory") }
                guard kind != S_IFIFO else {
                    throw .usage(
                        "@\(file): a named pipe", advice: "as stdin it can be waited for: <\(file)")
                }
                path = file
            case .header, .unsetHeader, .emptyHeader, .query: break
            }
        }
        let sources = [
            body != .unsaid ? "--raw" : nil, path.map { "@\($0)" },
            json != nil || !pairs.isEmpty ? "fields" : nil,
        ].compactMap(\.self)
        guard sources.count < 2 else {
            throw .usage("body: given twice: \(sources.joined(separator: " and "))")
        }
        if let json { body = .json(json) }
        if !pairs.isEmpty { body = .form(pairs.joined(separator: "&")) }
        if let path { body = .file(path: path) }
    }

    private func takeField(
        _ name: String, _ value: JSONValue, _ text: String, _ json: inout JSONValue?,
        _ pairs: inout [String]
    ) throws(CommandError) {
        guard isForm else {
            return try NestedField(parsing: name).set(value, in: &json, name: name)
        }
        pairs.append("\(formEncoded(name))=\(formEncoded(text))")
    }
}
