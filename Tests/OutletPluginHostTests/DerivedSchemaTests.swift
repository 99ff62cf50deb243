import OutletHTTP
import OutletTestSupport
import Testing

@testable import OutletPluginHost

/// The schema that the Swift kit derives from a configuration type, used by the host.
@Suite struct DerivedSchemaTests {
    private let folder: PluginFolder

    init() throws {
        folder = try PluginFolder()
        try folder.copy("libKitFixture.so")
    }

    private func load(_ configuration: String) throws -> PluginHost {
        var options = PluginHost.Options()
        options.configuration["test.kit"] = configuration
        return try PluginHost.load(directories: [folder.path], options: options)
    }

    @Test func `the schema has exactly the properties of the type`() throws {
        let host = try load("{}")
        let schema = try JSONValue(parsing: host.plugins.first?.configurationSchema ?? "")
        #expect(schema["additionalProperties"] == false)
        #expect(schema["required"] == nil)
        let properties = try #require(schema["properties"])
        let kinds: [(String, String)] = [
            ("limit", #"{"type":"number"}"#), ("strict", #"{"type":"boolean"}"#),
            ("count", #"{"type":"integer","minimum":0,"maximum":255}"#),
            (
                "offset",
                #"{"type":"integer","minimum":-9223372036854775808,"#
                    + #""maximum":9223372036854775807}"#
            ),
            ("words", #"{"type":"array","items":{"type":"string"}}"#),
            ("weights", #"{"type":"object","additionalProperties":{"type":"number"}}"#),
            ("mode", #"{"enum":["quick","thorough"]}"#), ("level", #"{"enum":[1,7]}"#),
            ("place", #"{"type":"string"}"#), ("odd", "{}"),
            (
                "greeting",
                #"{"type":"object","properties":{"text":{"type":"string"}},"#
                    + #""required":["text"],"additionalProperties":false}"#
            ),
            ("codes", #"{"type":"object","additionalProperties":{"type":"string"}}"#),
            ("shares", #"{"type":"object","additionalProperties":{"type":"number"}}"#),
            ("pairs", "{}"),
            ("bag", #"{"type":"object","properties":{},"additionalProperties":true}"#),
            (
                "sought",
                #"{"type":"object","properties":{"number":{"type":"integer","#
                    + #""minimum":-9223372036854775808,"maximum":9223372036854775807}},"#
                    + #""additionalProperties":false}"#
            ),
        ]
        for (name, kind) in kinds {
            #expect(properties[name] == (try JSONValue(parsing: kind)), "\(name)")
        }
        let branches = properties["tree"]?["properties"]?["branches"]
        #expect(branches?["items"] == (try JSONValue(parsing: ##"{"$ref":"#/properties/tree"}"##)))
        #expect(properties["condition"] != nil)
        #expect(properties.objectValue?.count == kinds.count + 3)
    }

    @Test func `optional values that are no properties may be null`() throws {
        let host = try load("{}")
        let schema = try JSONValue(parsing: host.plugins.first?.configurationSchema ?? "")
        let gaps = try #require(schema["properties"]?["gaps"]?["properties"])
        let chain = ##"{"$ref":"#/properties/gaps/properties/chain"}"##
        let items: [(String, String)] = [
            ("numbers", #"{"type":["integer","null"],"minimum":0,"maximum":255}"#),
            ("modes", #"{"enum":["quick","thorough",null]}"#),
            ("lists", #"{"type":["array","null"],"items":{"type":["boolean","null"]}}"#),
            ("deep", #"{"type":["boolean","null"]}"#),
        ]
        for (name, item) in items {
            #expect(gaps[name]?["items"] == (try JSONValue(parsing: item)), "\(name)")
        }
        #expect(
            gaps["chain"]?["properties"]?["links"]?["items"]
                == (try JSONValue(parsing: #"{"anyOf":[\#(chain),{"type":"null"}]}"#)))
    }

    @Test(arguments: [
        #"{"numbers":[null,1]}"#, #"{"words":{"a":null,"b":"c"}}"#,
        #"{"modes":[null,"quick"]}"#, #"{"lists":[null,[null,true]]}"#,
        #"{"greetings":{"a":null,"b":{"text":"hi"}}}"#, #"{"deep":[null,true]}"#,
        #"{"chain":{"links":[null,{"links":[null,{}]}]}}"#, #"{"twice":null}"#,
        #"{"asking":{"number":null,"word":null}}"#, #"{"asking":{"number":1,"word":"a"}}"#,
    ])
    func `null is accepted for an optional value that is no property`(gaps: String) throws {
        #expect(try load(#"{"gaps":\#(gaps)}"#).plugins.count == 1)
    }

    @Test(arguments: [
        (#"{"numbers":[null,256]}"#, "/gaps/numbers/1"),
        (#"{"words":{"a":1}}"#, "/gaps/words/a"), (#"{"modes":["slow"]}"#, "/gaps/modes/0"),
        (#"{"lists":[[1]]}"#, "/gaps/lists/0/0"), (#"{"greetings":{"a":{}}}"#, "/gaps/greetings/a"),
        (#"{"chain":{"links":[1]}}"#, "/gaps/chain/links/0"),
        (#"{"asking":{"number":"x","word":"a"}}"#, "/gaps/asking/number"),
        (#"{"asking":{"number":1,"word":1}}"#, "/gaps/asking/word"),
        (#"{"numbers":null}"#, "/gaps/numbers"), (#"{"asking":null}"#, "/gaps/asking"),
    ])
    func `other values than null are still refused with the path`(
        gaps: String, place: String
    ) throws {
        let error = try #require(throws: PluginDirectoryError.self) {
            try load(#"{"gaps":\#(gaps)}"#)
        }
        #expect("\(error)".contains(place), "\(error)")
    }

    @Test(arguments: [
        (#"{"limit":"much"}"#, "/limit"), (#"{"count":256}"#, "/count"),
        (#"{"count":-1}"#, "/count"), (#"{"offset":18446744073709551616}"#, "/offset"),
        (#"{"words":["a",1]}"#, "/words/1"),
        (#"{"weights":{"a":"heavy"}}"#, "/weights/a"), (#"{"mode":"slow"}"#, "/mode"),
        (#"{"greeting":{}}"#, "/greeting"),
        (
            #"{"greting":{"text":"hi"}}"#, "unknown key 'greting'; did you mean 'greeting'?"
        ),
        (#"{"tree":{"branches":[{"branches":1}]}}"#, "/tree/branches/0/branches"),
        (
            #"{"condition":{"all":[{"not":[{"named":{"x":{"any":[{"header":1}]}}}]}]}}"#,
            "/condition/all/0/not/0/named/x/any/0/header"
        ),
        (#"{"condition":{"not":[{"hedaer":"x"}]}}"#, "did you mean 'header'?"),
        (#"{"codes":{"200":1}}"#, "/codes/200"), (#"{"codes":{"x":"y"}}"#, "/codes"),
        (#"{"shares":{"quick":"x"}}"#, "/shares/quick"), (#"{"shares":{"slow":1}}"#, "/shares"),
        (#"{"bag":{"a":"b"}}"#, "/bag/a"), (#"{"sought":{"number":"x"}}"#, "/sought/number"),
    ])
    func `a configuration that does not match the type is refused with the path`(
        text: String, place: String
    ) throws {
        let error = try #require(throws: PluginDirectoryError.self) { try load(text) }
        #expect("\(error)".contains(place), "\(error)")
    }

    @Test func `the plugin refuses a value that the schema cannot exclude, and the error hides it`()
        throws
    {
        let error = try #require(throws: PluginDirectoryError.self) { try load(#"{"odd":"even"}"#) }
        #expect("\(error)".contains("configuration"), "\(error)")
        #expect(!"\(error)".contains("even"))
    }

    @Test func `a configuration that matches the type is accepted`() throws {
        let host = try load(
            #"{"greeting":{"text":"hi"},"count":255,"mode":"quick","level":7,"odd":"odd","weights":{"a":1}}"#
        )
        #expect(host.plugins.count == 1)
    }

    @Test(arguments: [
        #"{"codes":{"200":"fine","404":"gone"}}"#, #"{"shares":{"quick":1}}"#,
        #"{"pairs":[7,"high"]}"#, #"{"bag":{"a":1,"b":2}}"#, #"{"sought":{}}"#,
        #"{"sought":{"number":1}}"#, #"{"tree":{"branches":[{},{"branches":[{}]}]}}"#,
        #"{"condition":{"all":[{"not":[{"header":"a"}]},{"named":{"x":{"any":[]}}}]}}"#,
    ])
    func `dictionaries, keys that are looked for, and types that contain themselves are accepted`(
        text: String
    ) throws {
        #expect(try load(text).plugins.count == 1)
    }
}
