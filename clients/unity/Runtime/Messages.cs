// What the stream says; docs/stream.md describes every field.
using System;
using System.Collections.Generic;
using System.Text;

namespace Duocap
{
    public sealed class Skeleton
    {
        public string Hash;
        public List<string> Names = new List<string>();
        public List<int> Parents = new List<int>();
        public List<Vec3> Offsets = new List<Vec3>();
        /// Joint to VRM bone.
        public Dictionary<string, string> Humanoid = new Dictionary<string, string>();
    }

    public sealed class Pose
    {
        public string Hash, Session, State;
        public long Seq, CaptureNs, PublishNs;
        public Vec3 Root;
        /// Local, in the stream's own axes.
        public Quat[] Rotations;
        public List<string> Contacts = new List<string>();
    }

    public static class Messages
    {
        /// Give a Skeleton, a Pose, or null for the other topics. Throws MalformedMessageException.
        public static object Decode(byte[] payload)
        {
            int space = System.Array.IndexOf(payload, (byte)' ');
            if (space < 0) throw new MalformedMessageException("no topic");
            string topic = Encoding.ASCII.GetString(payload, 0, space);
            if (topic != "skeleton" && topic != "pose") return null;
            try
            {
                var map = (Dictionary<string, object>)new MsgPackReader(payload, space + 1).Read();
                if ((long)map["schema"] != 1) throw new MalformedMessageException("another schema; update this client");
                return topic == "pose" ? (object)ReadPose(map) : ReadSkeleton(map);
            }
            catch (Exception error) when (error is InvalidCastException || error is KeyNotFoundException || error is NullReferenceException
                || error is OverflowException || error is ArgumentException)
            {
                throw new MalformedMessageException(topic + ": " + error.Message);
            }
        }

        static Skeleton ReadSkeleton(Dictionary<string, object> map)
        {
            var skeleton = new Skeleton { Hash = (string)map["hash"] };
            foreach (object name in (List<object>)map["names"]) skeleton.Names.Add((string)name);
            foreach (object parent in (List<object>)map["parents"]) skeleton.Parents.Add(checked((int)(long)parent));
            foreach (object offset in (List<object>)map["offsets_m"]) skeleton.Offsets.Add(Vector(offset));
            foreach (var pair in (Dictionary<string, object>)map["humanoid"]) skeleton.Humanoid[pair.Key] = (string)pair.Value;
            int count = skeleton.Names.Count;
            bool fits = skeleton.Parents.Count == count && skeleton.Offsets.Count == count;
            for (int j = 0; fits && j < count; j++) fits = skeleton.Parents[j] >= -1 && skeleton.Parents[j] < j;
            if (!fits) throw new MalformedMessageException("a skeleton whose parts do not fit together");
            return skeleton;
        }

        static Pose ReadPose(Dictionary<string, object> map)
        {
            var packed = (byte[])map["rotations_xyzw"];
            if (packed.Length % 16 != 0) throw new MalformedMessageException("torn rotations");
            var pose = new Pose
            {
                Hash = (string)map["hash"], Session = (string)map["session"], State = (string)map["state"],
                Seq = (long)map["seq"], CaptureNs = (long)map["t_capture_ns"], PublishNs = (long)map["t_publish_ns"],
                Root = Vector(map["root_m"]), Rotations = new Quat[packed.Length / 16],
            };
            for (int j = 0; j < pose.Rotations.Length; j++)
                pose.Rotations[j] = new Quat(Single(packed, 16 * j), Single(packed, 16 * j + 4), Single(packed, 16 * j + 8), Single(packed, 16 * j + 12));
            foreach (object name in (List<object>)map["contacts"]) pose.Contacts.Add((string)name);
            return pose;
        }

        static Vec3 Vector(object value)
        {
            var list = (List<object>)value;
            if (list.Count != 3) throw new MalformedMessageException("expected three numbers");
            return new Vec3(Convert.ToSingle(list[0]), Convert.ToSingle(list[1]), Convert.ToSingle(list[2]));
        }

        static float Single(byte[] packed, int at)
        {
            if (BitConverter.IsLittleEndian) return BitConverter.ToSingle(packed, at);
            return BitConverter.ToSingle(new[] { packed[at + 3], packed[at + 2], packed[at + 1], packed[at] }, 0);
        }
    }
}
