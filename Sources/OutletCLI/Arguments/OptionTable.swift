/// The table of all options.
enum OptionTable {
    private static let pluginVerbs: [Verb] = [
        .request, .pluginsList, .pluginsInspect, .pluginsConfig, .pluginsCall, .demo,
    ]

    static let all: [Option] = plugins + request + output + response + limits + network + about

    private static let plugins = [
        Option(
            .plugins, value: "DIR", repeats: true, .plugins, verbs: pluginVerbs,
            "Loads the plugins (.so files) of a directory, or one file; may be given often: their hooks "
                + "run in this order."),
        Option(
            .pluginConfig, value: "ID=JSON|@FILE", repeats: true, .plugins,
            verbs: [.request, .pluginsInspect, .pluginsConfig, .pluginsCall, .pluginsCheck, .demo],
            "Configures a plugin, or with ID#NAME an instance, with a JSON object, its keys before those "
                + "of plugins.json; may be given often, also for one ID: keys of a later object replace "
                + "those of an earlier one. Others see a command line: secrets belong in a file."),
        Option(
            .pluginsOptional, .plugins, verbs: [.request, .pluginsCall, .demo],
            "Ignores plugins that cannot be used; they end the program otherwise."),
        Option(
            .pluginData, value: "DIR", .plugins, verbs: [.request, .pluginsCall, .demo],
            "An existing directory in which each plugin, or instance, gets one of its own for its "
                + "files; without it they have none."),
        Option(
            .run, .plugins, verbs: [.pluginsInspect, .pluginsConfig],
            "Loads the library and asks its code for what its file does not tell; starts nothing."),
        Option(
            .lang, value: "LANGUAGE", choices: ["c", "swift"],
            .plugins, verbs: [.pluginsNew], "What the new plugin is written in."),
        Option(
            .directory, value: "DIR", .plugins, verbs: [.pluginsNew],
            "Where to write the new plugin; a folder of its name, here, by default."),
        Option(
            .only, value: "NAME", repeats: true, .plugins, verbs: [.pluginsCheck],
            "Runs one test only, or those of one rule; may be given often."),
        Option(
            .seed, value: "N", .plugins, verbs: [.pluginsCheck],
            "Generates the same requests and values as the run that printed this number."),
    ]

    private static let request = [
        Option(
            .form, short: "f", .request,
            "Sends fields as a URL-encoded form instead of JSON."),
        Option(
            .raw, value: "TEXT", allowsEmpty: true, .request,
            "Sends this text as the body."),
        Option(
            .auth, short: "a", value: "USER:PASSWORD", .request,
            "Authenticates; with --auth-type=bearer the value is the token."),
        Option(
            .authType, short: "A", value: "TYPE", choices: ["basic", "bearer"], .request,
            "How to authenticate; basic by default."),
        Option(
            .chunked, .request,
            "Sends stdin as the body while it comes, in chunks, whatever it is but a terminal."),
        Option(
            .ignoreStdin, short: "I", .request,
            "Does not read a body from stdin; it is read unless it is a terminal, and an empty one "
                + "is no body. Beside a body of items, bytes that are there at the start are an error, "
                + "and later ones are ignored."),
    ]

    private static let output = [
        Option(
            .json, .output, verbs: pluginVerbs + [.pluginsCheck],
            "Prints one JSON object: request, response, metrics, plugin actions, error; 'plugins "
                + "inspect' prints one for each plugin."),
        Option(
            .verbose, short: "v", .output,
            "Prints both heads, plugin actions, proxy and CA in use, and the timing."),
        Option(
            .print, short: "p", value: "WHAT", allowsEmpty: true, .output,
            "What to print: H, B request head and body; h, b response; p plugins; m timing."),
        Option(.headers, short: "h", .output, "Prints the response's head only, as --print=h."),
        Option(.body, short: "b", .output, "Prints the response's body only, as --print=b."),
        Option(.quiet, short: "q", .output, "Prints nothing but errors."),
        Option(
            .output, short: "o", value: "FILE", .output,
            "Writes the body to a file, decoded but not laid out (Accept-Encoding:identity asks for one "
                + "without a coding); the rest still goes to stdout, as does all with -. A response "
                + "without a body leaves the file as it is."),
        Option(
            .pretty, value: "HOW", choices: ["all", "colors", "format", "none"], .output,
            "Lays out JSON and colours; 'all' on a terminal, else 'none'. A body is coloured only if it "
                + "is laid out, not by 'colors'."),
        Option(
            .color, value: "WHEN", choices: ["auto", "always", "never"], .output,
            verbs: pluginVerbs + [.pluginsCheck],
            "When to use colours; auto obeys NO_COLOR, CLICOLOR_FORCE and TERM=dumb."),
        Option(
            .showSecrets, .output,
            "Prints credentials in heads and reports instead of hiding them."),
    ]

    private static let response = [
        Option(
            .follow, short: "F", .response,
            "Follows redirects; without it a 3xx is the response, and the exit code is 3."),
        Option(
            .maxRedirects, value: "N", .response,
            "How many redirects --follow follows at most; 10 by default."),
        Option(
            .checkStatus, isOnByDefault: true, .response,
            "Lets the exit code tell the status (3, 4, 5), and a line on stderr if only the body is "
                + "printed; --no-check-status turns it off."),
    ]

    private static let limits = [
        Option(
            .maxResponseSize, value: "SIZE", .limits,
            "The largest body to hold in memory, such as 512k, 64M or 2G; 256M by "
                + "default, 0 for no limit. What is written to a file or a pipe has no limit, "
                + "unless a plugin processes it."),
        Option(
            .maxDecompressedSize, value: "SIZE", .limits,
            "The most bytes a compressed body may decode to; no limit by default."),
        Option(
            .maxDecompressionRatio, value: "N", .limits,
            "How many times its size a body may decode to, above 64M; 200 by default, "
                + "0 for no limit."),
        Option(
            .maxHeadSize, value: "SIZE", .limits,
            "The most bytes of a response's head; 256k by default, 300k at most."),
        Option(
            .maxHeadFields, value: "N", .limits,
            "How many fields a response's head may have; 2000 by default."),
    ]

    private static let network = [
        Option(
            .timeout, value: "SECONDS", .network,
            verbs: [.request, .pluginsCheck, .pluginsCall, .pluginsInspect, .pluginsConfig],
            "How long all may take, waits for stdin, plugins and readers too, such as 2.5; 0 for "
                + "no limit. Without it, a request fails after 60 s in which no byte comes or goes. In "
                + "'plugins check' each test, and 20 by default; 30 for what else runs plugins without "
                + "a request."),
        Option(
            .connectTimeout, value: "SECONDS", .network,
            "How long connecting may take, TLS included; 30 by default."),
        Option(
            .httpVersion, value: "VERSION", choices: ["auto", "1.1", "2"], .network,
            "Which HTTP to speak; 2 without asking the server first."),
        Option(
            .proxy, value: "URL", allowsEmpty: true, .network,
            "Goes through a proxy, or none with 'none'; the environment's otherwise."),
        Option(
            .allowFile, .network,
            "Reads file: addresses from this machine; without it they are refused."),
        Option(
            .addressPolicy, value: "POLICY", choices: ["any", "public"], .network,
            "Which addresses to connect to: any, or those of the public internet only, also after "
                + "redirects."),
        Option(.unixSocket, value: "PATH", .network, "Connects to a Unix socket."),
        Option(
            .resolve, value: "HOST:PORT:ADDRESS", repeats: true, .network,
            "Connects to this address, or one of several with commas between, in place of those that "
                + "the host's name has; may be given often."),
        Option(
            .interface, value: "NAME", .network,
            "Connects from this network interface, or from this address of the machine."),
        Option(
            .verify, value: "yes|no|FILE", .network,
            "Whether to verify certificates, or the CA bundle to verify with."),
        Option(.cacert, value: "FILE", .network, "The CA bundle (PEM) to verify with."),
        Option(.cert, value: "FILE", .network, "The client certificate (PEM)."),
        Option(.certKey, value: "FILE", .network, "The client certificate's key (PEM)."),
        Option(
            .tlsMin, value: "VERSION", choices: ["1.0", "1.1", "1.2", "1.3"], .network,
            "The oldest version of TLS to speak; OpenSSL's configuration decides otherwise."),
        Option(
            .ciphers, value: "LIST", .network,
            "The ciphers for TLS 1.2 and older, in OpenSSL's form."),
    ]

    private static let about = [
        Option(.help, .about, verbs: Verb.allCases, "Explains the verb, or everything."),
        Option(.version, .about, verbs: Verb.allCases, "Prints the versions."),
        Option(
            .generate, value: "KIND", choices: ["man", "bash", "zsh", "fish"], .about,
            "Prints the manual page, or completions for a shell."),
    ]

    static func option(_ id: Option.ID) -> Option? { all.first { $0.id == id } }

    static func option(long name: String) -> Option? { all.first { $0.long == name } }

    static func option(short letter: Character) -> Option? { all.first { $0.short == letter } }
}
