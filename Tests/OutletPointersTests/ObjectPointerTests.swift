import OutletPointers
import Testing

@Suite struct ObjectPointerTests {
    private final class Object {
        let number: Int
        init(_ number: Int) { self.number = number }
    }

    @Test func `an unretained pointer does not retain its object`() {
        weak var ended: Object?
        do {
            let object = Object(1)
            ended = object
            let pointer = ObjectPointer.unretained(object)
            #expect(ObjectPointer.object(at: pointer, as: Object.self).number == 1)
        }
        #expect(ended == nil)
    }

    @Test func `a retained pointer retains its object until it is released`() {
        weak var ended: Object?
        let pointer: UnsafeMutableRawPointer
        do {
            let object = Object(2)
            ended = object
            pointer = ObjectPointer.retained(object)
        }
        #expect(ended?.number == 2)
        ObjectPointer.release(pointer)
        #expect(ended == nil)
    }

    @Test func `taking a retained pointer returns the object and its reference`() {
        weak var ended: Object?
        do {
            let pointer = ObjectPointer.retained(Object(3))
            let object = ObjectPointer.takeRetained(pointer, as: Object.self)
            ended = object
            #expect(object.number == 3)
        }
        #expect(ended == nil)
    }

    @Test func `a pointer that is retained again has to be released twice`() {
        weak var ended: Object?
        let pointer: UnsafeMutableRawPointer
        do {
            let object = Object(4)
            ended = object
            pointer = ObjectPointer.retained(object)
        }
        ObjectPointer.retain(pointer)
        ObjectPointer.release(pointer)
        #expect(ended?.number == 4)
        ObjectPointer.release(pointer)
        #expect(ended == nil)
    }
}
