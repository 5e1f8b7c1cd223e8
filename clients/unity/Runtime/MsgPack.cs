// A reader of msgpack that needs neither reflection nor generated code, so that it works in IL2CPP builds as it is.
using System;
using System.Collections.Generic;
using System.Text;

namespace Duocap
{
    /// Bytes that are no message of duocap.
    public sealed class MalformedMessageException : Exception
    {
        public MalformedMessageException(string message) : base(message) { }
    }

    /// Reads one value: null, bool, long, double, string, byte[], List<object> or Dictionary<string, object>.
    public sealed class MsgPackReader
    {
        const int MaxDepth = 16;
        readonly byte[] bytes;
        int at;

        public MsgPackReader(byte[] bytes, int start) { this.bytes = bytes; at = start; }

        public object Read() { return Read(0); }

        object Read(int depth)
        {
            if (depth > MaxDepth) throw new MalformedMessageException("nested too deeply");
            int kind = Take(1)[0];
            if (kind <= 0x7f) return (long)kind;
            if (kind >= 0xe0) return (long)(sbyte)kind;
            if (kind <= 0x8f) return Map(kind & 0x0f, depth);
            if (kind <= 0x9f) return Array(kind & 0x0f, depth);
            if (kind <= 0xbf) return Text(kind & 0x1f);
            switch (kind)
            {
                case 0xc0: return null;
                case 0xc2: return false;
                case 0xc3: return true;
                case 0xc4: return Take(Count(1));
                case 0xc5: return Take(Count(2));
                case 0xc6: return Take(Count(4));
                case 0xca: return (double)BitConverter.ToSingle(Number(4), 0);
                case 0xcb: return BitConverter.ToDouble(Number(8), 0);
                case 0xcc: return (long)Take(1)[0];
                case 0xcd: return (long)BitConverter.ToUInt16(Number(2), 0);
                case 0xce: return (long)BitConverter.ToUInt32(Number(4), 0);
                case 0xcf: return checked((long)BitConverter.ToUInt64(Number(8), 0));
                case 0xd0: return (long)(sbyte)Take(1)[0];
                case 0xd1: return (long)BitConverter.ToInt16(Number(2), 0);
                case 0xd2: return (long)BitConverter.ToInt32(Number(4), 0);
                case 0xd3: return BitConverter.ToInt64(Number(8), 0);
                case 0xd9: return Text(Count(1));
                case 0xda: return Text(Count(2));
                case 0xdb: return Text(Count(4));
                case 0xdc: return Array(Count(2), depth);
                case 0xdd: return Array(Count(4), depth);
                case 0xde: return Map(Count(2), depth);
                case 0xdf: return Map(Count(4), depth);
                default: throw new MalformedMessageException("a type this stream does not use: 0x" + kind.ToString("x2"));
            }
        }

        Dictionary<string, object> Map(int count, int depth)
        {
            var map = new Dictionary<string, object>();
            for (int i = 0; i < count; i++)
            {
                var key = Read(depth + 1) as string;
                if (key == null) throw new MalformedMessageException("a key that is not text");
                map[key] = Read(depth + 1);
            }
            return map;
        }

        List<object> Array(int count, int depth)
        {
            if (count > bytes.Length - at) throw new MalformedMessageException("an array longer than the message");
            var list = new List<object>(count);
            for (int i = 0; i < count; i++) list.Add(Read(depth + 1));
            return list;
        }

        string Text(int length) { return Encoding.UTF8.GetString(Take(length)); }

        /// A length of so many bytes, most significant first.
        int Count(int size)
        {
            long value = 0;
            foreach (byte b in Take(size)) value = value << 8 | b;
            if (value > bytes.Length) throw new MalformedMessageException("a length beyond the message");
            return (int)value;
        }

        /// A number's bytes in the order of this machine.
        byte[] Number(int size)
        {
            byte[] number = Take(size);
            if (BitConverter.IsLittleEndian) System.Array.Reverse(number);
            return number;
        }

        byte[] Take(int length)
        {
            if (length < 0 || length > bytes.Length - at) throw new MalformedMessageException("the message ends too early");
            var part = new byte[length];
            Buffer.BlockCopy(bytes, at, part, 0, length);
            at += length;
            return part;
        }
    }
}
